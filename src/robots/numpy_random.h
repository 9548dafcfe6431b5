// SPDX-License-Identifier: Apache-2.0
// NumPy's legacy generator, numpy.random.RandomState(seed), as far as published environments use it: the same seed must
// give the same first state here.
#pragma once

#include <cstdint>
#include <random>

namespace fib::robots {

class NumpyRandom {
 public:
  explicit NumpyRandom(uint32_t seed) : bits_(seed) {}

  /// randint(low, high): high is never drawn.
  int64_t integer(int64_t low, int64_t high);
  /// random_sample(): [0, 1) from 27 and 26 bits.
  double uniform();
  /// randn(), by Marsaglia's polar method; each pair gives its second number first.
  double normal();

 private:
  std::mt19937 bits_;
  double kept_ = 0;
  bool has_kept_ = false;
};

}  // namespace fib::robots
