// SPDX-License-Identifier: Apache-2.0
// Every token of an image in every block, and a class token.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "models/kinds.h"

namespace fib::models {
namespace {

ModelRow vit(const char* name, int64_t resolution, int64_t patch, const Stage& s, int64_t classes = 1000) {
  ModelRow row{name, resolution, patch, s.dim, s.depth, s.heads, classes};
  row.normalization = kHalfNormalization;
  return row;
}

/// The same architecture, whose weights were trained with ImageNet's mean and deviation.
ModelRow deit(const char* name, const Stage& s) {
  ModelRow row = vit(name, 224, 16, s);
  row.normalization = kImageNetNormalization;
  return row;
}

std::vector<ModelRow> vit_rows() {
  return {
      // name, resolution, patch, {dim, depth, heads}, classes
      vit("vit_tiny_patch16_224", 224, 16, {192, 12, 3}),
      vit("vit_small_patch16_224", 224, 16, {384, 12, 6}),
      vit("vit_base_patch16_224", 224, 16, {768, 12, 12}),
      vit("vit_large_patch16_224", 224, 16, {1024, 24, 16}),
      deit("deit_tiny_patch16_224", {192, 12, 3}),
      deit("deit_small_patch16_224", {384, 12, 6}),
      deit("deit_base_patch16_224", {768, 12, 12}),
      vit("vit_base_patch16_224_10cls", 224, 16, {768, 12, 12}, 10),
      in_group(ModelGroup::small, vit("vit_nano_patch2_28", 28, 2, {48, 3, 6}, 10)),
      in_group(ModelGroup::small, vit("vit_micro_patch2_28", 28, 2, {96, 4, 12}, 10)),
      in_group(ModelGroup::small, vit("vit_milli_patch2_28", 28, 2, {192, 6, 12}, 10)),
      in_group(ModelGroup::test, vit("mini_vit", 64, 8, {48, 3, 3}, 10)),
  };
}

void check_widths(const Dimensions& d) {
  const std::vector<BlockWidth>& widths = d.options.widths;
  if (widths.empty()) return;
  if (static_cast<int64_t>(widths.size()) != d.row.depth) {
    throw std::invalid_argument(
        fmt::format("{} has {} blocks, got widths for {}", d.row.name, d.row.depth, widths.size()));
  }
  for (const BlockWidth& width : widths) {
    if (width.head_dim < 1 || width.hidden < 1) throw std::invalid_argument("a block of no channels is left");
  }
}

bool goes_by_the_grid(const AttentionSpec& spec) {
  return std::ranges::any_of(spec.options,
                             [](const auto& option) { return option.first == "grid" || option.first == "summaries"; });
}

/// What a mechanism must be able to do where tokens are fewer than at first.
void check_reduced_layer(const Dimensions& d, const AttentionLayer& layer) {
  const TokenReduction& tokens = d.options.tokens;
  const attention::MechanismInfo& m = attention::find_mechanism(layer.attention.name);
  const attention::Geometry& g = layer.geometry;
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument(
        fmt::format("{} with tokens {}: {}", layer.attention.to_string(), tokens.to_string(), why));
  };
  if (g.head_dim != g.value_dim) refuse("q and k must be as wide as v");
  const bool compact = tokens.distance == TokenReduction::Distance::compact;
  if (m.support_set && compact && goes_by_the_grid(layer.attention))
    refuse("a shortened sequence has no grid, choose distance=original");
  const bool biased = tokens.method == TokenReduction::Method::tome || (m.support_set && !compact);
  const std::string refusal = biased && m.bias_refusal != nullptr ? m.bias_refusal(layer.attention) : "";
  if (!refusal.empty()) refuse("the scores of merged tokens have a bias: " + refusal);
}

void check_vit(const Dimensions& d) {
  check_widths(d);
  if (!d.options.tokens) return;
  const std::vector<int64_t> counts = tokens_by_block(d);
  for (const AttentionLayer& layer : attention_layers(d)) {
    if (counts[static_cast<size_t>(*layer.geometry.layer)] < counts.front()) check_reduced_layer(d, layer);
  }
}

/// A pruned layer scales its scores as before.
AttentionLayer vit_layer(const Dimensions& d, int64_t block) {
  const int64_t dim = d.row.heads * d.width_of(block).head_dim;
  AttentionLayer layer = square_layer(d, true, {dim, d.row.heads, 1, d.grid(), block});
  if (!d.options.widths.empty()) layer.geometry.scale = 1.0 / std::sqrt(static_cast<double>(d.head_dim()));
  return layer;
}

/// Fewer tokens lie in a sequence, unless they keep the places they come from.
void place_left_tokens(AttentionLayer& layer, const TokenReduction& tokens, int64_t count) {
  attention::Geometry& g = layer.geometry;
  const bool by_distance = attention::find_mechanism(layer.attention.name).support_set;
  if (count == g.query_tokens() || (by_distance && tokens.distance == TokenReduction::Distance::original)) return;
  g.query_grid = g.key_grid = {1, count - g.cls};
}

std::vector<AttentionLayer> vit_layers(const Dimensions& d) {
  const std::vector<int64_t> tokens = tokens_by_block(d);
  std::vector<AttentionLayer> layers;
  for (int64_t block = 0; block < d.row.depth; ++block) {
    layers.push_back(vit_layer(d, block));
    place_left_tokens(layers.back(), d.options.tokens, tokens[static_cast<size_t>(block)]);
  }
  return layers;
}

/// Of linear layers of the block, for those of its tokens that are left there. Attention counts itself.
Cost vit_cost(const Dimensions& d) {
  const std::vector<int64_t> left = tokens_by_block(d);
  const int64_t tokens = left.front(), dim = d.row.dim;
  CostCounter count(tokens);
  count.conv(&Cost::patch_embed, d.grid().tokens(), {d.options.channels, dim, d.row.patch, false, true});
  count.parameters((tokens + 1) * dim);  // positions and the class token
  for (const AttentionLayer& layer : vit_layers(d)) {
    const auto block = static_cast<size_t>(*layer.geometry.layer);
    count.norm(dim);
    count.self_attention(layer, dim, left[block], true);
    count.norm(dim);
    count.mlp(left[block + 1], dim, d.width_of(*layer.geometry.layer).hidden);
  }
  count.norm(dim);
  count.head(dim, d.row.classes);
  return count.total();
}

}  // namespace

const Kind kVit{"vit", "head", "patch_embed.proj.weight", true, vit_rows, check_vit, vit_layers, vit_cost, true, true};

}  // namespace fib::models
