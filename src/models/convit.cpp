// SPDX-License-Identifier: Apache-2.0
// Gated positional attention among the patches first, then plain attention with a class token: only the latter takes
// the attention asked for.
#include "models/kinds.h"

namespace fib::models {
namespace {

/// All blocks but the last two look at positions.
ModelRow convit(const char* name, int64_t resolution, int64_t patch, const Stage& s, int64_t classes = 1000) {
  ModelRow row{name, resolution, patch, s.dim, s.depth, s.heads, classes};
  row.local_blocks = s.depth - 2;
  row.crop_ratio = 0.875;
  return row;
}

std::vector<ModelRow> convit_rows() {
  return {
      convit("convit_tiny", 224, 16, {192, 12, 4}),
      convit("convit_small", 224, 16, {432, 12, 9}),
      convit("convit_base", 224, 16, {768, 12, 16}),
      in_group(ModelGroup::small, convit("convit_micro_patch2_28", 28, 2, {96, 5, 12}, 10)),
      in_group(ModelGroup::test, convit("mini_convit", 64, 8, {48, 4, 4}, 10)),
  };
}

constexpr int64_t kPositionFeatures = 3;

std::vector<AttentionLayer> convit_layers(const Dimensions& d) {
  std::vector<AttentionLayer> layers;
  for (int64_t block = d.row.local_blocks; block < d.row.depth; ++block) {
    layers.push_back(square_layer(d, true, {d.row.dim, d.row.heads, 1, d.grid(), block}));
  }
  return layers;
}

/// Scores of content and of position; their mixture meets the values once.
void count_local_block(CostCounter& count, const Dimensions& d) {
  const AttentionLayer layer = convit_local_layer(d);
  const int64_t tokens = d.grid().tokens(), dim = d.row.dim, heads = d.row.heads;
  count.norm(dim);
  count.parameters(heads + (kPositionFeatures + 1) * heads);  // gates; the map of positions
  count.linear(&Cost::qkv, tokens, {dim, 3 * dim, false});
  count.attention(layer);
  count.macs(&Cost::scores, static_cast<double>(tokens * tokens * kPositionFeatures * heads));
  count.linear(&Cost::projection, tokens, {dim, dim});
  count.norm(dim);
  count.mlp(tokens, dim, d.hidden());
}

Cost convit_cost(const Dimensions& d) {
  const int64_t patches = d.grid().tokens(), dim = d.row.dim;
  CostCounter count(patches + 1);
  count.conv(&Cost::patch_embed, patches, {d.options.channels, dim, d.row.patch, false, true});
  count.parameters((patches + 1) * dim);  // positions and the class token
  for (int64_t block = 0; block < d.row.local_blocks; ++block) count_local_block(count, d);
  for (const AttentionLayer& layer : convit_layers(d)) {
    count.norm(dim);
    count.self_attention(layer, dim, false);
    count.norm(dim);
    count.mlp(patches + 1, dim, d.hidden());
  }
  count.norm(dim);
  count.head(dim, d.row.classes);
  return count.total();
}

}  // namespace

AttentionLayer convit_local_layer(const Dimensions& d) {
  return square_layer(d, false, {d.row.dim, d.row.heads, 0, d.grid(), 0});
}

const Kind kConvit{"convit",      "head",     "patch_embed.proj.weight", false, convit_rows, nullptr,
                   convit_layers, convit_cost};

}  // namespace fib::models
