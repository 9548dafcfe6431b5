// SPDX-License-Identifier: Apache-2.0
// Numbers of the published reference, in tests/fixtures/patterns.json.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>

inline const nlohmann::json& golden_patterns() {
  static const nlohmann::json data = nlohmann::json::parse(std::ifstream(FIB_TEST_DATA "/patterns.json"));
  return data;
}
