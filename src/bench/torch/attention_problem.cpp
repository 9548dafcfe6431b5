// SPDX-License-Identifier: Apache-2.0
#include "bench/torch/attention_problem.h"

#include <cmath>

#include "base/rng.h"

namespace fib::bench {

AttentionShape square_shape(const SupportSet& support, int64_t batch, int64_t dim) {
  return {batch, support.num_heads(), support.query_tokens(), support.key_tokens(), dim, dim};
}

AttentionProblem::AttentionProblem(SupportSet set, int64_t batch, int64_t dim, bool with_backward)
    : support(std::move(set)), shape(square_shape(support, batch, dim)), backward(with_backward) {
  uint64_t seed = 0;
  for (at::Tensor* x : {&q, &k, &v, &grad_out}) {
    if (x == &grad_out && !backward) break;
    *x = at::empty({batch, shape.heads, shape.query_tokens, dim});
    fill_random(*x, ++seed);
  }
}

int64_t AttentionProblem::tensor_bytes(const AttentionShape& s) {
  return s.batch * s.heads * s.query_tokens * s.dim * static_cast<int64_t>(sizeof(float));
}

int64_t AttentionProblem::bytes(const AttentionShape& s, bool with_backward) {
  return (with_backward ? 4 : 3) * tensor_bytes(s);
}

void fill_random(const at::Tensor& x, uint64_t seed) {
  const CounterRng rng(seed);
  float* data = x.data_ptr<float>();
  const float width = 2.0F * std::sqrt(3.0F) / 16777216.0F;  // uniform, 24 bits
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < x.numel(); ++i) {
    data[i] = (static_cast<float>(rng.at(static_cast<uint64_t>(i)) >> 40) - 8388607.5F) * width;
  }
}

}  // namespace fib::bench
