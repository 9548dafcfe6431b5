// SPDX-License-Identifier: Apache-2.0
// What a run tells while it works. The library prints nothing; what talks to people listens here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "training/run/metrics.h"

namespace fib::training {

struct RunFacts {
  std::string model, attention, data;
  std::string samples = "images";          ///< what they are called
  std::string evaluation_unit = "images";  ///< what those of an evaluation are called
  int64_t parameters = 0;
  int64_t train_samples = 0, validation_samples = 0, test_samples = 0;
  int64_t batch = 0;
  int64_t first_step = 0;          ///< not 0 where a run is resumed
  int64_t steps = 0;               ///< of the whole run
  int64_t evaluation_samples = 0;  ///< that are still to be evaluated, over and over, until the end
  int world = 1;
  std::vector<std::string> notices = {};  ///< what a person should know of how the data were read
};

struct StepFacts {
  int64_t step = 0;  ///< counted from 1
  int64_t steps = 0;
  int64_t epoch = 0;  ///< counted from 1
  int64_t epochs = 0;
  int64_t samples = 0;  ///< of this step, over all processes
  double loss = 0, lr = 0, norm = 0;
};

struct EvaluationFacts {
  std::string split;    ///< "validation" or "test"
  std::string weights;  ///< "model" or "ema"
  int64_t epoch = 0;    ///< counted from 1
  bool best = false;    ///< no earlier weights were better
  Evaluation result{};
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void started(const RunFacts& /*facts*/) {}
  virtual void stepped(const StepFacts& /*facts*/) {}
  virtual void evaluating(const std::string& /*split*/, int64_t /*done*/, int64_t /*total*/) {}
  virtual void evaluated(const EvaluationFacts& /*facts*/) {}
  virtual void saved(int64_t /*step*/) {}
  virtual void noted(const std::string& /*line*/) {}
};

}  // namespace fib::training
