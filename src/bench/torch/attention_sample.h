// SPDX-License-Identifier: Apache-2.0
// The float64 oracle for sizes that cannot be computed densely: a few rows of a few heads, each from its definition.
#pragma once

#include <vector>

#include "bench/torch/attention_problem.h"

namespace fib::bench {

/// What a contestant computes: the support alone, all keys, or all keys with score 0 outside the support.
enum class Semantics { support, dense, zero_masking };

/// A contestant's results, [B,H,T,d] of any strides; gradients only after a backward.
struct AttentionResults {
  at::Tensor out, dq, dk, dv;
};

/// The largest absolute difference on the sampled rows, relative to the largest |v| for the output and to the largest
/// gradient of its kind for gradients.
double max_error(const AttentionProblem& problem, const AttentionResults& results, Semantics semantics);

}  // namespace fib::bench
