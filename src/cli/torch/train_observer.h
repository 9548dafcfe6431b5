// SPDX-License-Identifier: Apache-2.0
// What a person sees of a training run.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "cli/progress.h"
#include "training/torch/observer.h"

namespace fib::cli {

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

class TrainObserver : public training::Observer {
 public:
  explicit TrainObserver(bool quiet) : quiet_(quiet) {}

  void started(const training::RunFacts& facts) override;
  void stepped(const training::StepFacts& facts) override;
  void evaluating(const std::string& split, int64_t done, int64_t total) override;
  void evaluated(const training::EvaluationFacts& facts) override;
  void noted(const std::string& line) override;

 private:
  void say(const std::string& line);
  double seconds() const;
  void tell_of_evaluations();

  bool quiet_;
  std::unique_ptr<ProgressBar> progress_;
  std::chrono::steady_clock::time_point begin_;
  EvaluationClock evaluations_;
  int64_t first_sample_ = 0, samples_ = 0;
  double loss_ = 0;  ///< smoothed, for the eye
};

}  // namespace fib::cli
