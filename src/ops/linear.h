// SPDX-License-Identifier: Apache-2.0
// Linear layers as differentiable torch functions: while gradients are recorded by our kernel, on the CPU in float32
// and for widths of whole vectors; by torch's own operations everywhere else.
#pragma once

#include <ATen/ATen.h>

namespace fib::ops {

/// x [...,K], weight [N,K], bias [N] or undefined -> [...,N].
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

/// GELU of the same, exact and not its approximation by tanh.
at::Tensor linear_gelu(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

}  // namespace fib::ops
