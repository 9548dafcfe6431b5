// SPDX-License-Identifier: Apache-2.0
// Mish, x · tanh(log(1 + eˣ)), and its gradient: one exponential and one division a number. Bitwise equal for any
// number of threads.
#pragma once

#include <cstdint>

namespace fib::kernels {

void mish_forward(const float* x, int64_t count, float* out);
/// dx = grad_out · mish'(x).
void mish_backward(const float* x, const float* grad_out, int64_t count, float* dx);

// ---- What the targets see -------------------------------------------------------------------------------------------

struct MishTable {
  void (*forward)(const float* x, int64_t count, float* out);
  void (*backward)(const float* x, const float* grad_out, int64_t count, float* dx);
};
const MishTable& mish_of_target(int64_t target);

}  // namespace fib::kernels
