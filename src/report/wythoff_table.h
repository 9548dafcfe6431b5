// SPDX-License-Identifier: Apache-2.0
// The upper left corner of the Wythoff array, for `fib pattern --array`.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace fib::report {

struct WythoffTable {
  bool modified;
  std::vector<std::vector<int64_t>> rows;

  nlohmann::ordered_json to_json() const;
  std::string to_string() const;
};

/// `size` is ROWSxCOLS; throws std::invalid_argument when it is not, or too large.
WythoffTable wythoff_table(const std::string& size, bool modified);

}  // namespace fib::report
