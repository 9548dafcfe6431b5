// SPDX-License-Identifier: Apache-2.0
#include "analysis/torch/measures.h"

#include <sstream>
#include <stdexcept>

namespace fib::analysis {
namespace {

void check_outputs(const at::Tensor& outputs) {
  if (outputs.dim() == 4 && outputs.size(1) >= 2) return;
  std::ostringstream message;
  message << "head diversity needs the outputs [B,H,T,e] of two heads or more, got " << outputs.sizes();
  throw std::invalid_argument(message.str());
}

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

at::Tensor head_diversity(const at::Tensor& head_outputs) {
  check_outputs(head_outputs);
  constexpr int64_t kWithoutProducts = 2;  // equal heads shall be exactly 0 apart, which x² + y² − 2xy does not give
  const int64_t H = head_outputs.size(1);
  const at::Tensor heads = head_outputs.flatten(2).to(at::kDouble);             // [B,H,T·e]
  const at::Tensor distances = at::cdist(heads, heads, 2.0, kWithoutProducts);  // [B,H,H]
  const at::Tensor norms = heads.norm(2, -1);                                   // [B,H]
  const at::Tensor sums = norms.unsqueeze(2) + norms.unsqueeze(1);              // [B,H,H]
  const at::Tensor ratios = at::where(sums > 0, distances / sums, at::zeros_like(sums));
  return ratios.sum({1, 2}) * (100.0 / static_cast<double>(H * (H - 1)));  // each pair stands twice, the diagonal is 0
}

InsideAttention inside_attention(const at::Tensor& weights, const at::Tensor& inside, int64_t cls) {
  check_region(weights, inside, cls);
  const at::Tensor tokens = inside.nonzero().squeeze(1) + cls;                                       // [n]
  const at::Tensor pairs = weights.to(at::kDouble).index_select(1, tokens).index_select(2, tokens);  // [H,n,n]
  return {mean_and_variance(pairs.mean(0)), mean_and_variance(pairs)};
}

}  // namespace fib::analysis
