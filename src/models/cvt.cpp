// SPDX-License-Identifier: Apache-2.0
// Convolutions make queries, keys and values; keys and values stand on a grid of half the size.
#include <cmath>
#include <stdexcept>

#include "models/kinds.h"

namespace fib::models {
namespace {

ModelRow cvt(const char* name, int64_t resolution, std::vector<Stage> stages, int64_t classes = 1000) {
  ModelRow row = staged_row(name, resolution, 4, std::move(stages), classes);
  row.crop_ratio = 0.875;
  return row;
}

std::vector<ModelRow> cvt_rows() {
  return {cvt("cvt_13_224", 224, {{64, 1, 1}, {192, 2, 3}, {384, 10, 6}}),
          in_group(ModelGroup::test, cvt("mini_cvt", 64, {{8, 1, 1}, {24, 1, 3}, {48, 2, 6}}, 10))};
}

/// A convolution of 7 pixels every 4, with 2 beyond the border; then ones of 3 every 2.
std::vector<attention::Grid> cvt_grids(const Dimensions& d) {
  std::vector<attention::Grid> list = {{(d.height - 3) / 4 + 1, (d.width - 3) / 4 + 1}};
  while (list.size() < d.row.stages.size()) list.push_back(halved(list.back()));
  return list;
}

/// Its supports for grids that differ are ours, see layer_support.
AttentionLayer cvt_layer(const Dimensions& d, size_t stage, int64_t depth) {
  const Stage& s = d.row.stages[stage];
  const bool last = stage + 1 == d.row.stages.size();  // the only one with a class token
  AttentionLayer layer = square_layer(d, true, {s.dim, s.heads, last ? 1 : 0, cvt_grids(d)[stage], depth});
  layer.geometry.key_grid = halved(layer.geometry.query_grid);
  layer.geometry.scale = 1.0 / std::sqrt(static_cast<double>(s.dim));  // of the whole width, not of a head's
  return layer;
}

std::vector<AttentionLayer> cvt_layers(const Dimensions& d) {
  std::vector<AttentionLayer> layers;
  for (size_t s = 0; s < d.row.stages.size(); ++s) {
    for (int64_t i = 0; i < d.row.stages[s].depth; ++i) {
      layers.push_back(cvt_layer(d, s, static_cast<int64_t>(layers.size())));
    }
  }
  return layers;
}

void count_cvt_block(CostCounter& count, const AttentionLayer& layer, int64_t dim) {
  const attention::Geometry& g = layer.geometry;
  count.norm(dim);
  for (int64_t outputs : {g.query_grid.tokens(), g.key_grid.tokens(), g.key_grid.tokens()}) {
    count.conv(&Cost::qkv, outputs, {dim, dim, 3, true});
    count.norm(dim);
  }
  count.linear(&Cost::qkv, g.query_tokens(), {dim, g.heads * g.head_dim});
  count.linear(&Cost::qkv, g.key_tokens(), {dim, g.heads * g.head_dim});
  count.linear(&Cost::qkv, g.key_tokens(), {dim, g.heads * g.value_dim});
  count.attention(layer);
  count.linear(&Cost::projection, g.query_tokens(), {dim, dim});
  count.norm(dim);
  count.mlp(g.query_tokens(), dim, 4 * dim);
}

Cost cvt_cost(const Dimensions& d) {
  const std::vector<attention::Grid> grid = cvt_grids(d);
  const std::vector<AttentionLayer> layers = cvt_layers(d);
  CostCounter count(grid[0].tokens());
  auto layer = layers.begin();
  int64_t from = d.options.channels;
  for (size_t s = 0; s < d.row.stages.size(); ++s) {
    const Stage& stage = d.row.stages[s];
    count.conv(&Cost::patch_embed, grid[s].tokens(), {from, stage.dim, s == 0 ? 7 : 3, false, true});
    count.norm(stage.dim);
    for (int64_t i = 0; i < stage.depth; ++i) count_cvt_block(count, *layer++, stage.dim);
    from = stage.dim;
  }
  count.parameters(from);  // the class token
  count.norm(from);
  count.head(from, d.row.classes);
  return count.total();
}

}  // namespace

const Kind kCvt{"cvt",      "head",  "stage0.patch_embed.proj.weight", false, cvt_rows, refuse_other_patches,
                cvt_layers, cvt_cost};

}  // namespace fib::models
