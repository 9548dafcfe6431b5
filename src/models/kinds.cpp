// SPDX-License-Identifier: Apache-2.0
#include "models/kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "patterns/measured_offsets.h"

namespace fib::models {

ModelRow staged_row(const char* name, int64_t resolution, int64_t patch, std::vector<Stage> stages, int64_t classes) {
  ModelRow row{name, resolution, patch, stages.front().dim, 0, stages.front().heads, classes, std::move(stages)};
  for (const Stage& stage : row.stages) row.depth += stage.depth;
  row.replaced = static_cast<int64_t>(row.stages.size());
  return row;
}

ModelRow in_group(ModelGroup group, ModelRow row) {
  row.group = group;
  row.crop_ratio = 1;
  return row;
}

void refuse_other_patches(const Dimensions& dims) {
  const int64_t own = find_row(dims.row.name).patch;
  if (dims.row.patch == own) return;
  throw std::invalid_argument(fmt::format("{} makes tokens of {} x {} pixels with convolutions, got a patch of {}",
                                          dims.row.name, own, own, dims.row.patch));
}

AttentionLayer square_layer(const Dimensions& dims, bool replaceable, const LayerPlace& place) {
  const AttentionSpec asked = in_layer(dims.options.attention, place.layer);
  const std::vector<int64_t>& chosen = dims.options.attention_layers;
  const bool replaced = replaceable && (chosen.empty() || std::ranges::count(chosen, place.layer) > 0);
  const bool takes_it = replaced || attention::find_mechanism(asked.name).dense;
  AttentionLayer layer{takes_it ? asked : AttentionSpec{"full", {}}, {}, replaced};
  attention::Geometry& g = layer.geometry;
  g.heads = place.heads;
  g.head_dim = g.value_dim = place.dim / place.heads;
  g.cls = place.cls;
  g.query_grid = g.key_grid = place.grid;
  g.layer = place.layer;
  g.head_dim = attention::query_key_dim(layer.attention, g);
  return layer;
}

std::vector<int64_t> tokens_by_block(const Dimensions& dims) {
  constexpr int64_t kClassTokens = 1;
  return dims.options.tokens.tokens_by_block(kClassTokens + dims.grid().tokens(), kClassTokens, dims.row.depth);
}

attention::Grid halved(const attention::Grid& grid) { return {(grid.height + 1) / 2, (grid.width + 1) / 2}; }

std::vector<AttentionLayer> attention_layers(const Dimensions& dims) { return dims.row.kind->layers(dims); }

Cost cost(const Dimensions& dims) { return dims.row.kind->cost(dims); }

void CostCounter::linear(Part part, int64_t tokens, const LinearShape& shape) {
  total_.*part += static_cast<double>(tokens) * static_cast<double>(shape.from * shape.to);
  parameters((shape.from + (shape.bias ? 1 : 0)) * shape.to);
}

void CostCounter::conv(Part part, int64_t outputs, const ConvShape& shape) {
  const int64_t fan_in = (shape.depthwise ? 1 : shape.from) * shape.kernel * shape.kernel;
  linear(part, outputs, {fan_in, shape.to, shape.bias});
}

const attention::Cost& CostCounter::cost_of(const AttentionLayer& layer) {
  attention::Geometry geometry = layer.geometry;
  // A permutation of heads and another random draw keep the number of pairs; between different grids, where a cell may
  // hold one token or two, a draw does not.
  if (geometry.square() && attention::same_pairs_in_every_layer(layer.attention)) geometry.layer.reset();
  const std::string attention = layer.attention.to_string();
  const auto same = [&](const Known& k) { return k.attention == attention && k.geometry == geometry; };
  const auto found = std::find_if(known_.begin(), known_.end(), same);
  if (found != known_.end()) return found->cost;
  return known_.emplace_back(Known{attention, geometry, attention::cost(layer.attention, geometry)}).cost;
}

void CostCounter::attention(const AttentionLayer& layer) {
  const attention::Cost& cost = cost_of(layer);
  const double samples = static_cast<double>(layer.samples);
  total_.scores += samples * cost.score_macs;
  total_.values += samples * cost.value_macs;
  parameters(cost.parameters);
  if (!layer.replaced) return;
  const attention::Geometry& g = layer.geometry;
  const double dense = samples * static_cast<double>(g.heads * g.query_tokens() * g.key_tokens()) *
                       static_cast<double>(g.head_dim + g.value_dim);
  total_.patch_pairs += layer.samples * cost.patch_pairs;
  pruned_ += cost.pruning_ratio;
  pruned_macs_ += dense * cost.pruning_ratio;
  dense_macs_ += dense;
  ++replaced_;
}

void CostCounter::self_attention(const AttentionLayer& layer, int64_t dim, bool qkv_bias) {
  self_attention(layer, dim, layer.samples * layer.geometry.query_tokens(), qkv_bias);
}

void CostCounter::self_attention(const AttentionLayer& layer, int64_t dim, int64_t tokens, bool qkv_bias) {
  const attention::Geometry& g = layer.geometry;
  linear(&Cost::qkv, tokens, {dim, g.heads * (2 * g.head_dim + g.value_dim), qkv_bias});
  attention(layer);
  linear(&Cost::projection, tokens, {g.heads * g.value_dim, dim});
}

void CostCounter::mlp(int64_t tokens, int64_t dim, int64_t hidden) {
  linear(&Cost::mlp, tokens, {dim, hidden});
  linear(&Cost::mlp, tokens, {hidden, dim});
}

Cost CostCounter::total() const {
  Cost total = total_;
  if (replaced_ == 0) return total;
  total.pruning_ratio = pruned_ / static_cast<double>(replaced_);
  total.pruning_ratio_by_cost = pruned_macs_ / dense_macs_;
  return total;
}

}  // namespace fib::models
