// SPDX-License-Identifier: Apache-2.0
#include "analysis/torch/diversity.h"

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

}  // namespace fib::analysis
