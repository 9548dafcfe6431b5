// SPDX-License-Identifier: Apache-2.0
// state.pt: everything a run needs to continue to the bit, in one file that is replaced as a whole. Order of data,
// augmentation, dropout and learning rate are functions of the recipe and the step, so a number stands for all of them.
#pragma once

#include <torch/torch.h>

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "training/run/log.h"
#include "training/torch/optimizer.h"

namespace fib::training {

struct Tally {
  double loss = 0;
  int64_t steps = 0;

  double mean() const { return steps > 0 ? loss / static_cast<double>(steps) : 0; }
};

/// The weights that did best on the validation set so far.
struct Best {
  std::string weights;  ///< "model" or "ema"; empty: none yet
  int64_t epoch = 0;
  double score = 0;
};

/// What a run knows beside its tensors.
struct RunState {
  int64_t step = 0;              ///< finished
  int64_t evaluated_epochs = 0;  ///< finished, and evaluated where that was due
  Tally window;                  ///< since the last line of metrics.jsonl
  Tally epoch;
  double train_seconds = 0;
  Best best;
  LogPosition log;
};

nlohmann::json to_json(const RunState& state);
RunState run_state_from_json(const nlohmann::json& json);

struct Checkpoint {
  std::string config;  ///< as TOML
  RunState run;
  at::Tensor values;
  OptimizerState optimizer;
  at::Tensor hook = {};  ///< its state; undefined where there is none
};

/// Atomic. Throws std::runtime_error with the file and the reason, as when the disk is full.
void save_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint);
/// Throws std::runtime_error where the file is missing or damaged.
Checkpoint load_checkpoint(const std::filesystem::path& file);

}  // namespace fib::training
