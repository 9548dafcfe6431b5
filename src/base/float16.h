// SPDX-License-Identifier: Apache-2.0
// 16-bit floating point as stored in weight files; both widen to float32 without rounding.
#pragma once

#include <bit>
#include <cstdint>

namespace fib {

/// IEEE binary16: 1 sign, 5 exponent, 10 mantissa bits. NaN keeps its payload.
inline float half_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 0x1fu;
  const uint32_t mantissa = half & 0x3ffu;
  if (exponent == 0) {  // zero and subnormals: mantissa · 2⁻²⁴, which float32 holds as normal numbers
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  const uint32_t widened = exponent == 0x1fu ? 0xffu : exponent + (127 - 15);
  return std::bit_cast<float>(sign | widened << 23 | mantissa << 13);
}

/// bfloat16 is the upper half of a float32.
inline float bfloat16_to_float(uint16_t value) { return std::bit_cast<float>(static_cast<uint32_t>(value) << 16); }

}  // namespace fib
