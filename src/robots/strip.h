// SPDX-License-Identifier: Apache-2.0
// An episode as a strip of frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "robots/pusht_image.h"

namespace fib::robots {

/// Ten of so many, evenly spaced, first and last included.
std::vector<size_t> strip_steps(size_t steps);

/// Appends square images of one size, side by side, to an image of the same width.
void append_strip(std::vector<uint8_t>& rgb, std::span<const std::vector<uint8_t>> images);

/// Of a square image of red, green, blue.
uint32_t image_side(std::span<const uint8_t> rgb);

/// What a policy saw at those steps.
std::vector<std::vector<uint8_t>> strip_images(std::span<const PushTScene> scenes);

}  // namespace fib::robots
