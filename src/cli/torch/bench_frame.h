// SPDX-License-Identifier: Apache-2.0
// What all benchmarks say beside their figures: where they ran, and how far they are.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace fib::cli {

/// "Intel Xeon …, 2 cores, AVX3".
std::string machine_name();

/// A figure, or null where there is none.
nlohmann::ordered_json or_null(std::optional<double> value);

/// One line on a terminal that is written over, and gone in the end.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// What is being done, and how much of it, from 0 to 1.
  void show(const std::string& what, double done) const;

 private:
  bool visible_;
};

}  // namespace fib::cli
