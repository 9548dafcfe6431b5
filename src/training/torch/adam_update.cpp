// SPDX-License-Identifier: Apache-2.0
#include "training/torch/adam_update.h"

#include <array>
#include <cmath>
#include <cstddef>

namespace fib::training {

void adam_update(const AdamArrays& arrays, int64_t begin, int64_t end, const AdamCoefficients& c) {
  float* __restrict value = arrays.value;
  const float* __restrict gradient = arrays.gradient;
  float* __restrict mean = arrays.mean;
  float* __restrict square = arrays.square;
  const AdamCoefficients k = c;
  for (int64_t i = begin; i < end; ++i) {
    const float g = gradient[i] * k.gradient_scale;
    mean[i] = k.beta1 * mean[i] + k.one_minus_beta1 * g;
    square[i] = k.beta2 * square[i] + k.one_minus_beta2 * g * g;
    value[i] = value[i] * k.keep - k.rate * mean[i] / (std::sqrt(square[i]) * k.correction + k.eps);
  }
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
