// SPDX-License-Identifier: Apache-2.0
// The size of a WebP picture from its first bytes: OpenCV allocates before one could ask it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace fib {

struct WebpSize {
  int64_t width;
  int64_t height;
};

/// None when the bytes are no WebP file.
std::optional<WebpSize> webp_size(std::span<const std::byte> bytes);

}  // namespace fib
