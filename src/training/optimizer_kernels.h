// SPDX-License-Identifier: Apache-2.0
// An optimizer without torch: its settings, and the arithmetic of one step on plain arrays. An optimizer is a row: its
// name, the state it keeps for every parameter, and the update of a range.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "training/option_row.h"

namespace fib::training {

struct OptimizerSettings {
  std::string name = "adamw";
  int64_t batch = 64;
  int64_t accumulate = 1;
  double lr = 1e-3;
  int64_t lr_batch = 0;
  double weight_decay = 0.05;
  std::string weight_decay_on = "weights";
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double momentum = 0.9;
  double grad_clip = 1;
  double layer_decay = 1;
  double label_smoothing = 0.1;
  std::string class_weights = "none";

  /// The learning rate at the top of the schedule.
  double peak_lr() const { return lr_batch > 0 ? lr * static_cast<double>(batch) / static_cast<double>(lr_batch) : lr; }

  static OptionRows<OptimizerSettings> rows();
  friend bool operator==(const OptimizerSettings&, const OptimizerSettings&) = default;
};

/// The constants of all optimizers; each uses its own.
struct UpdateOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double momentum = 0.9;
};

/// What a step says about a range.
struct UpdateStep {
  int64_t step = 1;  ///< counted from 1
  double lr = 0;
  double weight_decay = 0;
  double gradient_scale = 1;
};

struct UpdateArrays {
  float* value = nullptr;
  const float* gradient = nullptr;
  std::array<float*, 2> memory = {};  ///< in the row's order
};

struct OptimizerRow {
  std::string name;
  std::string help;
  std::vector<std::string> memory;  ///< one number per parameter each, zero at first; also their names in state.pt
  void (*update)(const UpdateArrays& arrays, int64_t begin, int64_t end, const UpdateStep& step,
                 const UpdateOptions& options);
};

const std::vector<OptimizerRow>& optimizers();
/// Throws std::invalid_argument with the known names.
const OptimizerRow& find_optimizer(std::string_view name);

/// average = decay · average + (1 - decay) · value
void average_update(float* average, const float* value, int64_t begin, int64_t end, float decay);

/// The sum of squares of n numbers, in an order that depends on n alone.
double square_sum(const float* x, int64_t n);

}  // namespace fib::training
