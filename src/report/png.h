// SPDX-License-Identifier: Apache-2.0
// A small PNG writer. OpenCV's would do, but merely linking it costs every run of the program 90 ms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace fib::report {

/// Rows of red, green, blue bytes, width · height · 3 of them.
std::string encode_png(std::span<const uint8_t> rgb, uint32_t width, uint32_t height);

}  // namespace fib::report
