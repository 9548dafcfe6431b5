// SPDX-License-Identifier: Apache-2.0
#include "robots/strip.h"

#include <algorithm>
#include <cmath>

namespace fib::robots {
namespace {
constexpr size_t kStripFrames = 10;
}

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

}  // namespace fib::robots
