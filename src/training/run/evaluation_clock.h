// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace fib::training {

/// How long evaluations take, to tell how long those to come will.
class EvaluationClock {
 public:
  explicit EvaluationClock(int64_t samples_to_come = 0) : to_come_(samples_to_come) {}

  /// An evaluation has come so far; `seconds` is now.
  void advance(int64_t done, double seconds);
  double taken() const { return taken_; }
  /// As fast as before; until there is a before, a third of the time that a sample takes in training, which has a
  /// backward pass on top of the forward one.
  double to_come(double training_seconds_each) const;

 private:
  int64_t to_come_, samples_ = 0, last_done_ = 0;
  double taken_ = 0, last_seconds_ = 0;
};

}  // namespace fib::training
