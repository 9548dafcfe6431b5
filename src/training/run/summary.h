// SPDX-License-Identifier: Apache-2.0
// summary.json: the result of a finished run. This is its only writer and its only reader.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "training/run/directory.h"
#include "training/run/metrics.h"

namespace fib::training {

struct Summary {
  std::string task = "classification";
  std::string samples = "images";          ///< what they are called; part of the field names
  std::string evaluation_unit = "images";  ///< what those of an evaluation are called
  Score score{};
  std::string model, attention, data;
  int64_t seed = 0;
  int64_t parameters = 0;
  int64_t train_samples = 0;
  int64_t epochs = 0, steps = 0, batch = 0;
  int64_t processes = 1, threads = 1;
  std::string machine = {};  ///< that finished it; empty in files that do not tell

  /// What weights of a run were found to be worth.
  struct Result {
    Evaluation evaluation{};
    std::string weights;  ///< "model" or "ema"
    int64_t epoch = 0;
  };
  std::optional<Result> validation = {};  ///< of the best weights; none where nothing was held out
  Result test{};

  double train_seconds = 0;
  double peak_memory_mb = 0;  ///< 10^6 bytes

  struct AttentionCost {
    double pruning_ratio = 0;
    double pruning_ratio_with_cls = 0;
  };
  std::optional<AttentionCost> attention_cost = {};

  struct Speed {
    double samples_per_second = 0;
    double step_ms = 0, data_wait_ms = 0;
    double attention_ms = 0;
  };
  /// None where the process that finished the run had no step left to take.
  std::optional<Speed> speed = {};
};

nlohmann::ordered_json to_json(const Summary& summary);

/// Atomic.
void write_summary(const RunFiles& files, const Summary& summary);
/// None where the run is not finished. Throws std::runtime_error naming a file that is damaged or too large.
std::optional<Summary> find_summary(const RunFiles& files);
/// Throws std::runtime_error where there is none.
Summary read_summary(const RunFiles& files);

}  // namespace fib::training
