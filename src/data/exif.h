// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace fib {

/// The orientation, 1 … 8, from EXIF data (a TIFF header and its first directory). 1, upright, where there is none or
/// the data is damaged: broken metadata must not cost a sound picture.
int exif_orientation(std::span<const std::byte> tiff);

}  // namespace fib
