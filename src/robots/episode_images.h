// SPDX-License-Identifier: Apache-2.0
// Episodes as people see them: a strip of frames, or a video.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "robots/arm_task.h"
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

/// An image of several rows of frames.
struct Strip {
  std::vector<uint8_t> rgb;
  uint32_t width = 0, height = 0;
};

/// Of an episode of PushT; above it, where there is one, the recording: the images of all its steps.
Strip pusht_strip(std::span<const PushTScene> scenes, std::span<const uint8_t> recorded);
/// Of an episode of an arm, a row for each camera.
Strip arm_strip(const ArmWorld& world, const ArmEpisode& episode);

void write_pusht_video(const std::filesystem::path& file, std::span<const PushTScene> scenes);
/// Both cameras side by side.
void write_arm_video(const std::filesystem::path& file, const ArmWorld& world, const ArmEpisode& episode);

}  // namespace fib::robots
