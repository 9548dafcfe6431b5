// SPDX-License-Identifier: Apache-2.0
#include "analysis/torch/inside_attention.h"

#include <sstream>
#include <stdexcept>

namespace fib::analysis {
namespace {

void check_region(const at::Tensor& weights, const at::Tensor& inside, int64_t cls) {
  const bool good = weights.dim() == 3 && weights.size(1) == weights.size(2) && inside.dim() == 1 &&
                    inside.scalar_type() == at::kBool && inside.size(0) + cls == weights.size(1);
  if (!good) {
    std::ostringstream message;
    message << "attention inside a region needs weights [H,T,T] and booleans [T - " << cls << "], got "
            << weights.sizes() << " and " << inside.sizes();
    throw std::invalid_argument(message.str());
  }
  if (!inside.any().item<bool>()) throw std::invalid_argument("the region holds no patch");
}

MeanAndVariance mean_and_variance(const at::Tensor& values) {
  return {values.mean().item<double>(), values.var(/*unbiased=*/false).item<double>()};
}

}  // namespace

InsideAttention inside_attention(const at::Tensor& weights, const at::Tensor& inside, int64_t cls) {
  check_region(weights, inside, cls);
  const at::Tensor tokens = inside.nonzero().squeeze(1) + cls;                                       // [n]
  const at::Tensor pairs = weights.to(at::kDouble).index_select(1, tokens).index_select(2, tokens);  // [H,n,n]
  return {mean_and_variance(pairs.mean(0)), mean_and_variance(pairs)};
}

}  // namespace fib::analysis
