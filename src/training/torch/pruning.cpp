// SPDX-License-Identifier: Apache-2.0
#include "training/torch/pruning.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/atomic_file.h"
#include "data/open_dataset.h"
#include "models/torch/weights.h"
#include "training/recipe/model_options.h"

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

PruningResult::Stage tested(const std::string& name, models::Model& model, const Recipe& recipe) {
  const DatasetPtr data = open_dataset(recipe.data.source, DatasetPart::test);
  ProcessGroup alone;
  return {name, model.cost().parameters,
          measure_accuracy(model, *evaluation_loader(data, recipe, model.dimensions()), alone)};
}

/// The model that the search began with.
PruningResult::Stage tested_before(const Recipe& recipe) {
  const DatasetPtr data = open_dataset(recipe.data.source, DatasetPart::test);
  return tested("before",
                *models::make_with_weights(recipe.model.name, recipe.model.weights,
                                           model_options(recipe, {data->info().classes, data->info().channels})),
                recipe);
}

}  // namespace

PruningSearch::PruningSearch(models::ModelPtr model, const PruningSettings& settings)
    : model_(std::move(model)), settings_(settings) {
  models::Vit& vit = prunable(*model_);
  const models::Dimensions& d = model_->dimensions();
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
    sum = sum + settings_.attention_penalty * sum_of_sizes(mask.attention) +
          settings_.mlp_penalty * sum_of_sizes(mask.hidden);
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
  if ((step + 1) % settings_.interval != 0 && step + 1 != steps) return;
  const at::NoGradGuard no_grad;
  const double ratio = settings_.ratio;
  const MaskUpdate update = updated_masks(values(true), {pruning_share(ratio, step, steps), ratio, weight_});
  const ChannelValues masks = values(false);
  masks.attention.copy_(update.masks.attention);
  masks.hidden.copy_(update.masks.hidden);
}

models::ModelPtr PruningSearch::pruned_model() const {
  return compressed(dynamic_cast<const models::Vit&>(*model_), masks_);
}

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

PruningResult finish_pruning(const PruningSearch& search, const Recipe& recipe, const RunFiles& files) {
  const models::ModelPtr small = search.pruned_model();
  PruningResult result{.stages = {}, .weights = files.pruned()};
  const auto test = evaluation_loader(open_dataset(recipe.data.source, DatasetPart::test), recipe, small->dimensions());
  models::save_weights(*small, result.weights, models::to_metadata(model_card(recipe, *small, *test)));
  if (!recipe.model.weights.empty()) result.stages.push_back(tested_before(recipe));
  result.stages.push_back(tested("pruned", *small, recipe));
  write_file_atomically(files.root / "pruning.json", to_json(result, recipe).dump(2) + "\n");
  return result;
}

nlohmann::ordered_json to_json(const PruningResult& result, const Recipe& recipe) {
  nlohmann::ordered_json json = {{"model", recipe.model.name},
                                 {"attention", recipe.model.attention},
                                 {"data", recipe.data.source},
                                 {"ratio", recipe.prune.ratio},
                                 {"weights", result.weights.string()}};
  for (const PruningResult::Stage& s : result.stages)
    json[s.name] = {{"parameters", s.parameters},
                    {"images", s.accuracy.images},
                    {"top1", s.accuracy.top1},
                    {"top5", s.accuracy.top5},
                    {"loss", s.accuracy.loss}};
  return json;
}

}  // namespace fib::training
