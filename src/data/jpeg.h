// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "data/image.h"

namespace fib {

bool is_jpeg(std::span<const std::byte> file);

/// Decodes and orients. libjpeg directly, not through OpenCV, which fills what a truncated file lacks with grey and
/// lets libjpeg's warnings reach stderr.
Image decode_jpeg(std::span<const std::byte> file, const std::string& name);

}  // namespace fib
