// SPDX-License-Identifier: Apache-2.0
#include "training/torch/prune/search.h"

#include <stdexcept>

namespace fib::training {
namespace {

models::Vit& prunable(models::Model& model) {
  auto* vit = dynamic_cast<models::Vit*>(&model);
  const models::Dimensions& d = model.dimensions();
  if (vit == nullptr) throw std::invalid_argument("pruning is for ViT and DeiT, got " + d.row.name);
  if (!d.options.widths.empty()) throw std::invalid_argument("these weights of " + d.row.name + " are pruned already");
  return *vit;
}

at::Tensor sum_of_sizes(const at::Tensor& values) { return values.abs().sum(); }

}  // namespace

PruningSearch::PruningSearch(models::Model& model, const Recipe& recipe) : recipe_(recipe) {
  models::Vit& vit = prunable(model);
  const models::Dimensions& d = model.dimensions();
  blocks_ = d.row.depth;
  head_dim_ = d.head_dim();
  hidden_ = d.hidden();
  weight_ = attention_weight(d.row.dim, d.row.heads);
  const int64_t count = blocks_ * (head_dim_ + hidden_);
  state_ = at::cat({at::ones({count}), at::zeros({count})});
  const ChannelValues all = values(false);
  for (int64_t block = 0; block < blocks_; ++block) {
    masks_.push_back({all.attention[block].detach().requires_grad_(), all.hidden[block].detach().requires_grad_()});
  }
  vit.set_masks(masks_);
}

ChannelValues PruningSearch::values(bool saliency) const {
  const int64_t attention = blocks_ * head_dim_, hidden = blocks_ * hidden_;
  const int64_t begin = saliency ? attention + hidden : 0;
  return {state_.narrow(0, begin, attention).view({blocks_, head_dim_}),
          state_.narrow(0, begin + attention, hidden).view({blocks_, hidden_})};
}

at::Tensor PruningSearch::penalty() {
  at::Tensor sum = at::zeros({});
  for (const models::ChannelMasks& mask : masks_) {
    sum = sum + recipe_.prune_attention_penalty * sum_of_sizes(mask.attention) +
          recipe_.prune_mlp_penalty * sum_of_sizes(mask.hidden);
  }
  return sum;
}

/// Gradients of all processes, which each saw a part of the batch.
void PruningSearch::collect(ProcessGroup& group) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> parts;
  for (const auto part : {&models::ChannelMasks::attention, &models::ChannelMasks::hidden}) {
    for (models::ChannelMasks& mask : masks_) {
      parts.push_back((mask.*part).grad().clone());
      (mask.*part).mutable_grad().zero_();
    }
  }
  const at::Tensor gradients = at::cat(parts);
  group.sum(gradients);
  state_.narrow(0, gradients.numel(), gradients.numel()).add_(gradients);
}

void PruningSearch::stepped(int64_t step, int64_t steps) {
  if ((step + 1) % recipe_.prune_interval != 0 && step + 1 != steps) return;
  const at::NoGradGuard no_grad;
  const double ratio = recipe_.prune_ratio;
  const MaskUpdate update = updated_masks(values(true), {pruning_share(ratio, step, steps), ratio, weight_});
  const ChannelValues masks = values(false);
  masks.attention.copy_(update.masks.attention);
  masks.hidden.copy_(update.masks.hidden);
}

}  // namespace fib::training
