// SPDX-License-Identifier: Apache-2.0
// One size of attention that all contestants compute, and how far a contestant's results are from the float64 oracle:
// a few rows of a few heads, each from its definition, because large sizes cannot be computed densely.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "fibottention/attention.h"

namespace fib::bench {

/// q, k, v and, for backward, the gradient of the output.
struct AttentionProblem {
  SupportSet support;
  AttentionShape shape;
  bool backward = false;
  at::Tensor q, k, v, grad_out;  ///< float32 [B,H,T,d], contiguous; variance 1

  AttentionProblem(SupportSet set, int64_t batch, int64_t dim, bool with_backward);

  /// Bytes of one tensor [B,H,T,d].
  static int64_t tensor_bytes(const AttentionShape& shape);
  int64_t tensor_bytes() const { return tensor_bytes(shape); }
  /// Of q, k, v and, for backward, the gradient of the output.
  static int64_t bytes(const AttentionShape& shape, bool with_backward);
  int64_t bytes() const { return bytes(shape, backward); }
};

AttentionShape square_shape(const SupportSet& support, int64_t batch, int64_t dim);

/// Fills with numbers of mean 0 and variance 1 on all threads; torch's generator takes a minute for a million tokens.
void fill_random(const at::Tensor& x, uint64_t seed);

/// A contiguous [B,H,T,d] as the kernels take it.
template <class T>
TokenView<T> head_major(T* data, const AttentionShape& s) {
  return {data, s.heads * s.query_tokens * s.dim, s.query_tokens * s.dim, s.dim};
}

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
