// SPDX-License-Identifier: Apache-2.0
// What the tests of images share with tests/fixtures: Pillow's results, boxes of a second implementation, and the noise
// that make_image_fixtures.py makes.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/images/image.h"
#include "data/images/resize.h"

namespace fib::test {

/// The same generator as `noise` in make_image_fixtures.py.
inline Image noise_image(int64_t width, int64_t height, uint32_t seed) {
  Image image = make_image(width, height);
  uint32_t x = seed;
  for (uint8_t& value : image.pixels) {
    x = (x * 1103515245u + 12345u) % 0x80000000u;
    value = static_cast<uint8_t>(x >> 16);
  }
  return image;
}

inline nlohmann::json golden(const std::string& name) {
  std::ifstream in(std::string(FIB_TEST_DATA) + "/" + name);
  return nlohmann::json::parse(in);
}

/// augment.json, by make_augment.py.
inline const nlohmann::json& augment_golden() {
  static const nlohmann::json golden = nlohmann::json::parse(std::ifstream(FIB_TEST_DATA "/augment.json"));
  return golden;
}

inline std::vector<uint8_t> from_hex(const std::string& text) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<uint8_t>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

inline Image golden_image(const std::string& name) {
  const auto& image = augment_golden().at("images").at(name);
  return {image.at("width"), image.at("height"), from_hex(image.at("pixels"))};
}

/// Pixels [first, last) of a row.
inline std::vector<uint8_t> row_part(const Image& image, int64_t y, int64_t first, int64_t last) {
  return {image.row(y) + 3 * first, image.row(y) + 3 * last};
}

/// x, y, width, height, as the golden file writes a box.
inline std::vector<int64_t> as_list(const Region& box) { return {box.x, box.y, box.width, box.height}; }

}  // namespace fib::test
