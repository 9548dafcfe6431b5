// SPDX-License-Identifier: Apache-2.0
#include "training/torch/upop.h"

#include <cmath>

namespace fib::training {
namespace {

at::Tensor standardized(const at::Tensor& values) {
  const at::Tensor deviation = values.std(/*unbiased=*/true);
  // Values that are all alike rank alike.
  return (values - values.mean()) / deviation.masked_fill(deviation.eq(0.0), 1.0);
}

/// The value at which the weights of all above and itself come closest to `wanted`.
double threshold_of(const ChannelValues& values, int64_t weight, double share) {
  const at::Tensor all = at::cat({values.attention.flatten(), values.hidden.flatten()});
  const at::Tensor weights = at::ones_like(all);
  weights.narrow(0, 0, values.attention.numel()).fill_(static_cast<double>(weight));
  const auto [sorted, order] = all.sort(/*dim=*/0, /*descending=*/true);
  const at::Tensor taken = weights.index_select(0, order).cumsum(0);
  const at::Tensor closest = (taken - share * weights.sum()).abs().argmin();
  return sorted[closest.item<int64_t>()].item<double>();
}

at::Tensor masks_of(const at::Tensor& values, double threshold, double shrunk) {
  const at::Tensor stays = values.le(threshold).logical_or(values.eq(values.amin(1, true)));
  return at::where(stays, at::ones_like(values), at::full_like(values, shrunk));
}

}  // namespace

double pruning_share(double ratio, int64_t step, int64_t steps) {
  const double done = static_cast<double>(step + 1) / static_cast<double>(steps);
  return ratio * std::sqrt((1.0 - std::cos(M_PI * done)) / 2.0);
}

MaskUpdate updated_masks(const ChannelValues& saliency, const PruningTarget& target) {
  const ChannelValues ranks{standardized(saliency.attention.to(at::kDouble)),
                            standardized(saliency.hidden.to(at::kDouble))};
  const double threshold = threshold_of(ranks, target.attention_weight, target.share);
  const double shrunk = 1.0 - target.share / target.ratio;
  return {threshold, {masks_of(ranks.attention, threshold, shrunk), masks_of(ranks.hidden, threshold, shrunk)}};
}

/// A channel of a head: rows of q, k and v with their biases and a column of the projection, in every head; a hidden
/// one: a row with its bias and a column.
int64_t attention_weight(int64_t dim, int64_t heads) { return heads * (3 * (dim + 1) + dim) / (2 * dim + 1); }

}  // namespace fib::training
