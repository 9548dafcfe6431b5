// SPDX-License-Identifier: Apache-2.0
#include "robots/episode_images.h"

#include <algorithm>
#include <cmath>

#include "robots/video.h"

namespace fib::robots {

namespace {

constexpr size_t kStripFrames = 10;
constexpr int kPushTHertz = 10;
/// Sides of an arm's images: in a strip, and of each half of a video.
constexpr int kArmStripSide = 128, kArmVideoSide = 256;

/// The strip's last row of frames has been appended.
Strip finished(std::vector<uint8_t> rgb, size_t width) {
  const auto w = static_cast<uint32_t>(width);
  const auto height = static_cast<uint32_t>(rgb.size() / 3 / width);
  return {std::move(rgb), w, height};
}

}  // namespace

std::vector<size_t> strip_steps(size_t steps) {
  std::vector<size_t> chosen;
  const size_t frames = std::min(kStripFrames, steps);
  chosen.reserve(frames);
  for (size_t i = 0; i < frames; ++i) chosen.push_back(frames == 1 ? 0 : i * (steps - 1) / (frames - 1));
  return chosen;
}

uint32_t image_side(std::span<const uint8_t> rgb) {
  return static_cast<uint32_t>(std::lround(std::sqrt(static_cast<double>(rgb.size()) / 3)));
}

void append_strip(std::vector<uint8_t>& rgb, std::span<const std::vector<uint8_t>> images) {
  const size_t side = image_side(images.front());
  const size_t row_bytes = side * 3;
  for (size_t y = 0; y < side; ++y) {
    for (const auto& image : images) {
      const auto from = image.begin() + static_cast<std::ptrdiff_t>(y * row_bytes);
      rgb.insert(rgb.end(), from, from + static_cast<std::ptrdiff_t>(row_bytes));
    }
  }
}

std::vector<std::vector<uint8_t>> strip_images(std::span<const PushTScene> scenes) {
  std::vector<std::vector<uint8_t>> images;
  for (const size_t t : strip_steps(scenes.size())) images.push_back(draw_image(scenes[t]));
  return images;
}

Strip pusht_strip(std::span<const PushTScene> scenes, std::span<const uint8_t> recorded) {
  constexpr size_t kImageBytes = size_t{kImageSize} * kImageSize * 3;
  std::vector<uint8_t> rgb;
  if (!recorded.empty()) {
    std::vector<std::vector<uint8_t>> above;
    for (const size_t t : strip_steps(scenes.size())) {
      const auto image = recorded.subspan(t * kImageBytes, kImageBytes);
      above.emplace_back(image.begin(), image.end());
    }
    append_strip(rgb, above);
  }
  const std::vector<std::vector<uint8_t>> drawn = strip_images(scenes);
  append_strip(rgb, drawn);
  return finished(std::move(rgb), drawn.size() * kImageSize);
}

Strip arm_strip(const ArmWorld& world, const ArmEpisode& episode) {
  std::vector<uint8_t> rgb;
  const std::vector<size_t> steps = strip_steps(episode.snapshots.size());
  for (const ArmCamera camera : {ArmCamera::agentview, ArmCamera::eye_in_hand}) {
    std::vector<std::vector<uint8_t>> images;
    images.reserve(steps.size());
    for (const size_t t : steps) images.push_back(world.image(episode.snapshots[t], camera, kArmStripSide));
    append_strip(rgb, images);
  }
  return finished(std::move(rgb), steps.size() * kArmStripSide);
}

void write_pusht_video(const std::filesystem::path& file, std::span<const PushTScene> scenes) {
  std::vector<std::vector<uint8_t>> frames;
  frames.reserve(scenes.size());
  for (const PushTScene& scene : scenes) frames.push_back(draw_canvas(scene));
  write_video(file, frames, kPushTHertz);
}

void write_arm_video(const std::filesystem::path& file, const ArmWorld& world, const ArmEpisode& episode) {
  const auto video =
      open_video(file, {.width = 2 * kArmVideoSide, .height = kArmVideoSide, .frames_per_second = kArmHertz});
  for (const ArmSnapshot& snapshot : episode.snapshots) {
    const std::vector<std::vector<uint8_t>> cameras{world.image(snapshot, ArmCamera::agentview, kArmVideoSide),
                                                    world.image(snapshot, ArmCamera::eye_in_hand, kArmVideoSide)};
    std::vector<uint8_t> both;
    append_strip(both, cameras);
    video->add(both);
  }
  video->finish();
}

}  // namespace fib::robots
