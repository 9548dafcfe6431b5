// SPDX-License-Identifier: Apache-2.0
// One size of attention that all contestants compute: q, k, v and, for backward, the gradient of the output.
#pragma once

#include <torch/torch.h>

#include <cstdint>

#include "fibottention/attention.h"

namespace fib::bench {

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

}  // namespace fib::bench
