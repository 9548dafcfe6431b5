// SPDX-License-Identifier: Apache-2.0
// Pooled attention: keys and values stand on a smaller grid than queries, and queries shrink from stage to stage.
#include "models/kinds.h"

namespace fib::models {
namespace {

/// Its last two grids are too small for a support to differ from all pairs.
ModelRow mini_mvitv2() {
  ModelRow row = staged_row("mini_mvitv2", 64, 4, {{16, 1, 1}, {32, 1, 2}, {64, 2, 4}, {128, 1, 8}}, 10);
  row.replaced = 2;
  return in_group(ModelGroup::test, row);
}

std::vector<ModelRow> mvit_rows() {
  return {staged_row("mvitv2_small", 224, 4, {{96, 1, 1}, {192, 2, 2}, {384, 11, 4}, {768, 2, 8}}), mini_mvitv2()};
}

attention::Grid every(int64_t stride, const attention::Grid& grid) {
  return {(grid.height + stride - 1) / stride, (grid.width + stride - 1) / stride};
}

/// Keys and values are as many in every stage.
int64_t key_stride(size_t stage) { return std::max<int64_t>(1, 4 >> stage); }

/// Scores have terms for the distances in rows and in columns. q carries its products with them, and k ones where its
/// row and column are, behind the channels of the head: so they are part of q·k, and no matrix of them is made.
AttentionLayer mvit_layer(const Dimensions& d, size_t stage, const attention::Grid& grid, int64_t number) {
  const Stage& s = d.row.stages[stage];
  const bool replaceable = static_cast<int64_t>(stage) < d.row.replaced;
  AttentionLayer layer = square_layer(d, replaceable, {s.dim, s.heads, 0, grid, number});
  attention::Geometry& g = layer.geometry;
  g.key_grid = every(key_stride(stage), grid);
  g.head_dim = g.value_dim + g.key_grid.height + g.key_grid.width;
  g.scale = 1.0;
  g.bias = true;
  return layer;
}

std::vector<AttentionLayer> mvit_layers(const Dimensions& d) {
  std::vector<AttentionLayer> layers;
  attention::Grid grid = halved(halved({d.height, d.width}));
  for (size_t s = 0; s < d.row.stages.size(); ++s) {
    for (int64_t i = 0; i < d.row.stages[s].depth; ++i) {
      AttentionLayer layer = mvit_layer(d, s, grid, static_cast<int64_t>(layers.size()));
      if (s > 0 && i == 0) layer.geometry.query_grid = halved(grid);
      grid = layer.geometry.query_grid;
      layers.push_back(layer);
    }
  }
  return layers;
}

/// As it is usually counted: products of q with the tables once, scores on the channels of the head.
void count_scores(CostCounter& count, AttentionLayer layer) {
  attention::Geometry& g = layer.geometry;
  const int64_t distances = g.key_grid.height + g.key_grid.width;
  g.head_dim = g.value_dim;
  count.attention(layer);
  count.macs(&Cost::scores, static_cast<double>(g.heads * g.query_tokens() * distances * g.value_dim));
  const int64_t rows = 2 * std::max(g.query_grid.height, g.key_grid.height) - 1;
  const int64_t columns = 2 * std::max(g.query_grid.width, g.key_grid.width) - 1;
  count.parameters((rows + columns) * g.value_dim);
}

/// `inputs` tokens of `from` channels enter.
void count_mvit_block(CostCounter& count, const AttentionLayer& layer, int64_t inputs, int64_t from) {
  const attention::Geometry& g = layer.geometry;
  const int64_t dim = g.heads * g.value_dim, queries = g.query_tokens();
  count.norm(from);
  if (from != dim) count.linear(&Cost::projection, inputs, {from, dim});
  count.linear(&Cost::qkv, inputs, {from, 3 * dim});
  for (int64_t outputs : {queries, g.key_tokens(), g.key_tokens()}) {
    count.conv(&Cost::qkv, g.heads * outputs, {g.value_dim, g.value_dim, 3, true});
    count.norm(g.value_dim);
  }
  count_scores(count, layer);
  count.linear(&Cost::projection, queries, {dim, dim});
  count.norm(dim);
  count.mlp(queries, dim, 4 * dim);
}

Cost mvit_cost(const Dimensions& d) {
  int64_t tokens = halved(halved({d.height, d.width})).tokens(), dim = d.row.dim;
  CostCounter count(tokens);
  count.conv(&Cost::patch_embed, tokens, {d.options.channels, dim, 7, false, true});
  for (const AttentionLayer& layer : mvit_layers(d)) {
    count_mvit_block(count, layer, tokens, dim);
    tokens = layer.geometry.query_tokens();
    dim = layer.geometry.heads * layer.geometry.value_dim;
  }
  count.norm(dim);
  count.head(dim, d.row.classes);
  return count.total();
}

}  // namespace

const Kind kMvit{"mvit",      "head.fc", "patch_embed.proj.weight", false, mvit_rows, refuse_other_patches,
                 mvit_layers, mvit_cost};

}  // namespace fib::models
