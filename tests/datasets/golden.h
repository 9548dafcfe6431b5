// SPDX-License-Identifier: Apache-2.0
// tests/data/augment.json: Pillow's results and boxes of a second implementation (make_augment.py beside it).
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/images/image.h"
#include "data/images/resize.h"

namespace fib::test {

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
