// SPDX-License-Identifier: Apache-2.0
// The slow, obvious version of the operator: all T × T scores, masked, differentiated by torch.
#pragma once

#include <torch/torch.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "kernels/dropout.h"
#include "ops/support_attention.h"

namespace fib::ops {

/// bool [H,Tq,Tk]
inline at::Tensor support_mask(const SupportSet& set) {
  auto mask = torch::zeros({set.num_heads(), set.query_tokens(), set.key_tokens()}, torch::kBool);
  for (int64_t h = 0; h < set.num_heads(); ++h) {
    const at::Tensor pairs = support_pairs(set, h);
    mask[h].index_put_({pairs.select(1, 0), pairs.select(1, 1)}, torch::ones({pairs.size(0)}, torch::kBool));
  }
  return mask;
}

/// The factors 0 and 1/(1-p) of every pair, [B,H,Tq,Tk].
inline at::Tensor dropout_factors(int64_t batch, const SupportSet& set, const SupportAttentionOptions& options) {
  auto factors = torch::empty({batch, set.num_heads(), set.query_tokens(), set.key_tokens()}, torch::kDouble);
  double* value = factors.data_ptr<double>();
  const uint32_t threshold = kernels::dropout_threshold(options.dropout);
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t h = 0; h < set.num_heads(); ++h) {
      const kernels::DropoutStream stream(static_cast<uint64_t>(*options.seed), b, h);
      for (int64_t j = 0; j < set.query_tokens(); ++j) {
        for (int64_t k = 0; k < set.key_tokens(); ++k) {
          *value++ = stream.bits(j, k) >= threshold ? 1.0 / (1.0 - options.dropout) : 0.0;
        }
      }
    }
  }
  return factors;
}

inline at::Tensor without_padding(at::Tensor mask, const at::Tensor& lengths) {
  const auto inside = [&](int64_t tokens) { return torch::arange(tokens) < lengths.view({-1, 1}); };
  mask = mask & inside(mask.size(-1)).view({-1, 1, 1, mask.size(-1)});
  if (mask.size(-1) == mask.size(-2)) mask = mask & inside(mask.size(-2)).view({-1, 1, mask.size(-2), 1});
  return mask;
}

/// Output and log-sum-exp.
inline Outputs dense_oracle(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const SupportSet& set,
                            const SupportAttentionOptions& options = {}) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double scale = options.scale.value_or(1.0 / std::sqrt(static_cast<double>(q.size(3))));
  at::Tensor scores = q.matmul(k.transpose(-2, -1)) * scale;
  if (options.bias) scores = scores + options.bias->repeat({q.size(0) / options.bias->size(0), 1, 1, 1});
  at::Tensor mask = support_mask(set).unsqueeze(0).expand_as(scores);
  if (options.lengths) mask = without_padding(mask, *options.lengths);
  if (options.masking == Masking::zero) {
    scores = scores * mask;
    return {scores.softmax(-1).matmul(v), scores.logsumexp(-1)};
  }
  const at::Tensor empty = mask.any(-1).logical_not().unsqueeze(-1);
  scores = scores.masked_fill(mask.logical_not(), -infinity).masked_fill(empty, 0.0);
  at::Tensor p = scores.softmax(-1).masked_fill(empty, 0.0);
  if (options.dropout > 0.0) p = p * dropout_factors(q.size(0), set, options).to(p.scalar_type());
  return {p.matmul(v), scores.logsumexp(-1).masked_fill(empty.squeeze(-1), -infinity)};
}

}  // namespace fib::ops
