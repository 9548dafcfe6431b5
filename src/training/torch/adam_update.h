// SPDX-License-Identifier: Apache-2.0
// The arithmetic of one optimiser step on plain arrays.
#pragma once

#include <cstdint>

namespace fib::training {

/// The constants of a step, as torch's AdamW forms them.
struct AdamCoefficients {
  float keep;        ///< 1 - lr · weight decay
  float rate;        ///< lr / (1 - beta1^t)
  float correction;  ///< 1 / sqrt(1 - beta2^t)
  float beta1, beta2;
  float one_minus_beta1, one_minus_beta2;
  float eps;
  float gradient_scale;
};

struct AdamArrays {
  float* value;
  const float* gradient;
  float* mean;
  float* square;
};

/// Elements begin to end.
void adam_update(const AdamArrays& arrays, int64_t begin, int64_t end, const AdamCoefficients& c);

/// average = decay · average + (1 - decay) · value
void average_update(float* average, const float* value, int64_t begin, int64_t end, float decay);

/// The sum of squares of n numbers, in an order that depends on n alone.
double square_sum(const float* x, int64_t n);

}  // namespace fib::training
