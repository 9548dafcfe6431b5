// SPDX-License-Identifier: Apache-2.0
// Functions of rows, in parallel and in as few passes as there can be.
#pragma once

#include <cstdint>

namespace fib::engine {

/// out = (x - mean) / sqrt(variance + epsilon) · weight + bias, row by row.
struct NormRows {
  const float* x;
  int64_t x_stride, rows, channels;
  const float *weight, *bias;
  float epsilon;
  float* out;
  int64_t out_stride;
};
void layer_norm(const NormRows& rows);

}  // namespace fib::engine
