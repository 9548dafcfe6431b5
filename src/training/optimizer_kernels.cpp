// SPDX-License-Identifier: Apache-2.0
#include "training/optimizer_kernels.h"

#include <cmath>
#include <cstddef>
#include <stdexcept>

#include "base/nearest.h"

namespace fib::training {
namespace {

/// As torch's AdamW forms them.
struct AdamCoefficients {
  float keep;        ///< 1 - lr · weight decay
  float rate;        ///< lr / (1 - beta1^t)
  float correction;  ///< 1 / sqrt(1 - beta2^t)
  float beta1, beta2;
  float one_minus_beta1, one_minus_beta2;
  float eps;
  float gradient_scale;
};

AdamCoefficients adam_coefficients(const UpdateStep& s, const UpdateOptions& o) {
  const double t = static_cast<double>(s.step);
  return {.keep = static_cast<float>(1 - s.lr * s.weight_decay),
          .rate = static_cast<float>(s.lr / (1 - std::pow(o.beta1, t))),
          .correction = static_cast<float>(1 / std::sqrt(1 - std::pow(o.beta2, t))),
          .beta1 = static_cast<float>(o.beta1),
          .beta2 = static_cast<float>(o.beta2),
          .one_minus_beta1 = static_cast<float>(1 - o.beta1),
          .one_minus_beta2 = static_cast<float>(1 - o.beta2),
          .eps = static_cast<float>(o.eps),
          .gradient_scale = static_cast<float>(s.gradient_scale)};
}

void adamw(const UpdateArrays& arrays, int64_t begin, int64_t end, const UpdateStep& step,
           const UpdateOptions& options) {
  float* __restrict value = arrays.value;
  const float* __restrict gradient = arrays.gradient;
  float* __restrict mean = arrays.memory[0];
  float* __restrict square = arrays.memory[1];
  const AdamCoefficients k = adam_coefficients(step, options);
  for (int64_t i = begin; i < end; ++i) {
    const float g = gradient[i] * k.gradient_scale;
    mean[i] = k.beta1 * mean[i] + k.one_minus_beta1 * g;
    square[i] = k.beta2 * square[i] + k.one_minus_beta2 * g * g;
    value[i] = value[i] * k.keep - k.rate * mean[i] / (std::sqrt(square[i]) * k.correction + k.eps);
  }
}

/// As torch's SGD with nesterov=True: decay is part of the gradient, and the step looks ahead by one velocity.
void sgd(const UpdateArrays& arrays, int64_t begin, int64_t end, const UpdateStep& step, const UpdateOptions& options) {
  float* __restrict value = arrays.value;
  const float* __restrict gradient = arrays.gradient;
  float* __restrict velocity = arrays.memory[0];
  const auto scale = static_cast<float>(step.gradient_scale), decay = static_cast<float>(step.weight_decay);
  const auto momentum = static_cast<float>(options.momentum), lr = static_cast<float>(step.lr);
  for (int64_t i = begin; i < end; ++i) {
    const float g = gradient[i] * scale + decay * value[i];
    velocity[i] = momentum * velocity[i] + g;
    value[i] -= lr * (g + momentum * velocity[i]);
  }
}

}  // namespace

OptionRows<OptimizerSettings> OptimizerSettings::rows() {
  using O = OptimizerSettings;
  return {
      {"optimizer",
       &O::name,
       "how a step changes the parameters: AdamW, or gradient descent with Nesterov's momentum",
       {},
       names_of(optimizers(), &OptimizerRow::name)},
      {"batch", &O::batch, "number of images in one step, counted over all processes", kCount},
      {"accumulate", &O::accumulate, "number of parts that the batch of a step is computed in, to save memory", kCount},
      {"lr", &O::lr, "learning rate at the top of the schedule", kPositive},
      {"lr_batch", &O::lr_batch,
       "batch that lr is meant for: with another batch the rate grows in proportion; 0 takes lr as it is",
       kCountOrNone},
      {"weight_decay", &O::weight_decay, "factor of the weight decay; 0 turns it off", kNotNegative},
      {"weight_decay_on",
       &O::weight_decay_on,
       "what decays: all parameters, or all but biases, norms and embeddings as timm does it",
       {},
       {"weights", "all"}},
      {"beta1", &O::beta1, "how much AdamW keeps of the mean of earlier gradients at each step", kRate},
      {"beta2", &O::beta2, "how much AdamW keeps of the mean of earlier squared gradients at each step", kRate},
      {"eps", &O::eps, "added to the denominator of AdamW's update, so that it is never 0", kPositive},
      {"momentum", &O::momentum, "how much SGD keeps of its last update; 0 is plain gradient descent", kRate},
      {"grad_clip", &O::grad_clip, "gradients with a larger norm are scaled down to it; 0 turns this off",
       kNotNegative},
      {"layer_decay", &O::layer_decay,
       "factor of the learning rate from each block to the one before it; 1 is one rate for all", kPositiveShare},
      {"label_smoothing", &O::label_smoothing, "share of each label that is spread over all classes; 0 turns this off",
       kRate},
      {"class_weights",
       &O::class_weights,
       "how much the images of a class count in the loss: all alike, or balanced, so that rare classes count as much "
       "in "
       "total as frequent ones",
       {},
       {"none", "balanced"}},
  };
}

const std::vector<OptimizerRow>& optimizers() {
  static const std::vector<OptimizerRow> rows = {
      {"adamw", "Adam with decay apart from the gradient", {"mean", "square"}, adamw},
      {"sgd", "gradient descent with Nesterov's momentum", {"velocity"}, sgd},
  };
  return rows;
}

const OptimizerRow& find_optimizer(std::string_view name) {
  return find_named(optimizers(), "optimizer", name, &OptimizerRow::name);
}

void average_update(float* __restrict average, const float* __restrict value, int64_t begin, int64_t end, float decay) {
  const float rest = 1 - decay;
  for (int64_t i = begin; i < end; ++i) average[i] = decay * average[i] + rest * value[i];
}

double square_sum(const float* x, int64_t n) {
  // Eight sums, because a compiler may not reorder a single one.
  constexpr int64_t kLanes = 8;
  std::array<double, kLanes> sums{};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t j = 0; j < kLanes; ++j) {
      const double value = x[i + j];
      sums[static_cast<size_t>(j)] += value * value;
    }
  for (; i < n; ++i) sums[0] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  double sum = 0;
  for (const double lane : sums) sum += lane;
  return sum;
}

}  // namespace fib::training
