// SPDX-License-Identifier: Apache-2.0
// What a person sees of a training run.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "cli/progress.h"
#include "training/run/evaluation_clock.h"
#include "training/torch/observer.h"

namespace fib::cli {

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
  training::EvaluationClock evaluations_;
  int64_t first_sample_ = 0, samples_ = 0;
  double loss_ = 0;  ///< smoothed, for the eye
};

}  // namespace fib::cli
