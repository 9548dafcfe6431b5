// SPDX-License-Identifier: Apache-2.0
#include "training/torch/prune/compress.h"

namespace fib::training {
namespace {

/// Places of what stays, in one block.
struct Kept {
  at::Tensor head;    ///< among the channels of a head
  at::Tensor hidden;  ///< among the hidden channels
};

Kept kept_in(const models::ChannelMasks& mask) {
  const auto places = [](const at::Tensor& values) { return values.detach().ne(0.0).nonzero().flatten(); };
  return {places(mask.attention), places(mask.hidden)};
}

/// The same channels of `repeats` heads that stand one after another, d channels each.
at::Tensor in_every_head(const at::Tensor& head, int64_t repeats, int64_t d) {
  return (at::arange(repeats, at::kLong).unsqueeze(1) * d + head.unsqueeze(0)).flatten();
}

/// What a parameter of a block keeps; `name` is its name within the block.
at::Tensor pruned(const std::string& name, const at::Tensor& value, const Kept& kept, int64_t heads, int64_t d) {
  if (name.starts_with("attn.qkv.")) return value.index_select(0, in_every_head(kept.head, 3 * heads, d));
  if (name == "attn.proj.weight") return value.index_select(1, in_every_head(kept.head, heads, d));
  if (name.starts_with("mlp.fc1.")) return value.index_select(0, kept.hidden);
  if (name == "mlp.fc2.weight") return value.index_select(1, kept.hidden);
  return value;
}

}  // namespace

models::ModelPtr compressed(const models::Vit& model, const std::vector<models::ChannelMasks>& masks) {
  const at::NoGradGuard no_grad;
  const models::Dimensions& d = model.dimensions();
  models::Options options = d.options;
  options.resolution = d.height;
  options.width = d.width;
  options.initialize = false;
  std::vector<Kept> kept;
  for (const models::ChannelMasks& mask : masks) {
    kept.push_back(kept_in(mask));
    options.widths.push_back({kept.back().head.size(0), kept.back().hidden.size(0)});
  }
  const models::ModelPtr small = models::make(d.row.name, options);
  const auto originals = model.named_parameters();
  for (auto& item : small->named_parameters()) {
    at::Tensor value = originals[item.key()];
    if (item.key().starts_with("blocks.")) {
      const size_t dot = item.key().find('.', 7);
      const Kept& here = kept.at(static_cast<size_t>(std::stoll(item.key().substr(7))));
      value = pruned(item.key().substr(dot + 1), value, here, d.row.heads, d.head_dim());
    }
    item.value().copy_(value);
  }
  small->train(model.is_training());
  return small;
}

}  // namespace fib::training
