// SPDX-License-Identifier: Apache-2.0
// What a box plot shows.
#pragma once

#include <cstdint>
#include <vector>

namespace fib::analysis {

struct FiveNumbers {
  double min = 0, q1 = 0, median = 0, q3 = 0, max = 0;
  double mean = 0;
  int64_t count = 0;
};

/// Quartiles by linear interpolation between the nearest ranks, as NumPy's default. Throws std::invalid_argument for
/// an empty list.
FiveNumbers five_numbers(std::vector<double> values);

}  // namespace fib::analysis
