// SPDX-License-Identifier: Apache-2.0
// What a box plot shows, and whether two lists of results differ by more than chance.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace fib::analysis {

/// Of sorted values, at least one, by linear interpolation between the nearest ranks, as NumPy's default.
double quantile(const std::vector<double>& sorted, double share);

struct FiveNumbers {
  double min = 0, q1 = 0, median = 0, q3 = 0, max = 0;
  double mean = 0;
  int64_t count = 0;
};

/// Throws std::invalid_argument for an empty list.
FiveNumbers five_numbers(std::vector<double> values);

struct Estimate {
  int64_t count = 0;
  double mean = 0;
  double deviation = 0;   ///< of the sample, with n - 1; 0 for fewer than two values
  double half_width = 0;  ///< of the 95 % interval of the mean by Student's t; 0 for fewer than two values
};

Estimate estimate(const std::vector<double>& values);

struct PairedTest {
  int64_t pairs = 0;
  double difference = 0;  ///< mean of x - y
  double p = 1;           ///< two-sided: how often chance alone would give as large a t, were there no difference
};

/// Student's paired t-test. Throws std::invalid_argument for lists of different lengths or fewer than two pairs. Where
/// all differences are equal, as those of few seeds on a small test set can be, their spread is not known: p is 1.
PairedTest paired_t_test(const std::vector<double>& x, const std::vector<double>& y);

/// A result of each seed.
using BySeed = std::map<int64_t, double>;
Estimate estimate_over_seeds(const BySeed& values);
/// The test over the seeds that both have; none where these are fewer than two.
std::optional<PairedTest> paired_by_seed(const BySeed& x, const BySeed& y);

/// P(|T| >= |t|) of Student's distribution with a whole number of degrees of freedom, by its finite sum.
double student_p(double t, int64_t freedom);

}  // namespace fib::analysis
