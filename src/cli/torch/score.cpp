// SPDX-License-Identifier: Apache-2.0
#include "cli/torch/score.h"

#include <algorithm>

namespace fib::cli {

void Score::add(const at::Tensor& logits, const at::Tensor& labels) {
  const int64_t classes = logits.size(1);
  const at::Tensor best = std::get<1>(logits.topk(std::min<int64_t>(5, classes), 1));  // [B,5]
  const at::Tensor hits = best.eq(labels.unsqueeze(1));
  images_ += logits.size(0);
  top1_ += hits.select(1, 0).sum().item<int64_t>();
  top5_ += hits.sum().item<int64_t>();
  loss_ += at::cross_entropy_loss(logits.to(at::kDouble), labels, {}, at::Reduction::Sum).item<double>();
}

}  // namespace fib::cli
