// SPDX-License-Identifier: Apache-2.0
// What the tests of images share with tests/data/make_image_fixtures.py.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/images/image.h"

namespace fib::test {

/// The same generator as `noise` there.
inline Image noise_image(int64_t width, int64_t height, uint32_t seed) {
  Image image = make_image(width, height);
  uint32_t x = seed;
  for (uint8_t& value : image.pixels) {
    x = (x * 1103515245u + 12345u) % 0x80000000u;
    value = static_cast<uint8_t>(x >> 16);
  }
  return image;
}

inline std::vector<uint8_t> from_hex(const std::string& text) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < text.size(); i += 2)
    bytes.push_back(static_cast<uint8_t>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

inline nlohmann::json golden(const std::string& name) {
  std::ifstream in(std::string(FIB_TEST_DATA) + "/" + name);
  return nlohmann::json::parse(in);
}

}  // namespace fib::test
