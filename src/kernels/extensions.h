// SPDX-License-Identifier: Apache-2.0
// Instructions for products of low precision, which a processor may have beside those of its SIMD target: Highway's
// targets do not tell them apart. docs/targets.md says how to do without them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fib::kernels {

/// Bits of a set.
enum Extension : uint32_t {
  kAvx512Vnni = 1,   ///< four products of bytes added to each of 16 sums
  kAvxVnni = 2,      ///< to each of 8 sums, on processors without AVX-512
  kAvx512Bf16 = 4,   ///< two products of bfloat16 added to each of 16 sums
  kAmxInt8 = 8,      ///< tiles of 16 x 64 bytes
  kAmxBf16 = 16,     ///< tiles of 16 x 32 bfloat16
  kDotProduct = 32,  ///< ARM's products of four signed bytes
};

/// Those in use: what the processor and the system grant, less FIB_WITHOUT or without_extensions.
uint32_t extensions();

/// Whether VDPBF16PS is worth its rounding. Zen 4 starts one in every cycle, which doubles what multiply-adds of
/// float32 do; Sapphire Rapids starts one in two cycles, half of what these do.
bool bfloat16_pairs_are_fast();

/// What FIB_WITHOUT accepts, separated by commas; those of `bits`.
std::vector<std::string> extension_names(uint32_t bits = ~0u);

/// Leaves out the named ones instead of those of FIB_WITHOUT, "" none; throws std::invalid_argument for a name that
/// does not exist. For tests, between products.
void without_extensions(const std::string& names);

}  // namespace fib::kernels
