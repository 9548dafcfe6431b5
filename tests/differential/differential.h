// SPDX-License-Identifier: Apache-2.0
// Differential fuzzing: problem N of a kind is drawn from a seed and N alone, computed by every SIMD target of this
// machine and by a slow oracle, and compared within a stated bound.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/rng.h"

namespace fib::test {

/// One of the values, each as likely.
template <class T>
T one_of(CounterRng& random, std::span<const T> values) {
  return values[random.below(values.size())];
}
template <class T>
T one_of(CounterRng& random, std::initializer_list<T> values) {
  return one_of(random, std::span<const T>(values.begin(), values.size()));
}

/// A size of 1 to `most`: small ones, those beside multiples of vectors, and any.
int64_t random_size(CounterRng& random, int64_t most);

/// What became of one problem.
struct Trial {
  std::string problem;                 ///< what it was, in one line
  int64_t comparisons = 0;             ///< results that were compared with the oracle's
  std::vector<std::string> findings;   ///< where a result was further from it than the bound
  bool refused = false;                ///< options that do not go together
  std::map<std::string, int64_t> met;  ///< what of the registries it tried
};

/// Attention on a support set of the registry or of the common list of cases; all of what a call may have.
Trial attention_trial(CounterRng random);
/// The same for the dense kernel.
Trial dense_trial(CounterRng random);
/// The engine's products, in every precision.
Trial product_trial(CounterRng random);

}  // namespace fib::test
