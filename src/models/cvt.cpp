// SPDX-License-Identifier: Apache-2.0
// Convolutions make queries, keys and values; keys and values stand on a grid of half the size.
#include <cmath>
#include <stdexcept>

#include "attention/catalogue.h"
#include "models/kinds.h"
#include "models/meter.h"

namespace fib::models {
namespace {

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
  AttentionLayer layer = square_layer(spec_of(d, true), {s.dim, s.heads, last ? 1 : 0, cvt_grids(d)[stage], depth});
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

void count_cvt_block(Meter& meter, const AttentionLayer& layer, int64_t dim) {
  const attention::Geometry& g = layer.geometry;
  meter.norm(dim);
  for (int64_t outputs : {g.query_grid.tokens(), g.key_grid.tokens(), g.key_grid.tokens()}) {
    meter.conv(&Cost::qkv, outputs, {dim, dim, 3, true});
    meter.norm(dim);
  }
  meter.linear(&Cost::qkv, g.query_tokens(), {dim, g.heads * g.head_dim});
  meter.linear(&Cost::qkv, g.key_tokens(), {dim, g.heads * g.head_dim});
  meter.linear(&Cost::qkv, g.key_tokens(), {dim, g.heads * g.value_dim});
  meter.attention(layer);
  meter.linear(&Cost::projection, g.query_tokens(), {dim, dim});
  meter.norm(dim);
  meter.mlp(g.query_tokens(), dim, 4 * dim);
}

Cost cvt_cost(const Dimensions& d) {
  const std::vector<attention::Grid> grid = cvt_grids(d);
  const std::vector<AttentionLayer> layers = cvt_layers(d);
  Meter meter(grid[0].tokens());
  auto layer = layers.begin();
  int64_t from = d.options.channels;
  for (size_t s = 0; s < d.row.stages.size(); ++s) {
    const Stage& stage = d.row.stages[s];
    meter.conv(&Cost::patch_embed, grid[s].tokens(), {from, stage.dim, s == 0 ? 7 : 3, false, true});
    meter.norm(stage.dim);
    for (int64_t i = 0; i < stage.depth; ++i) count_cvt_block(meter, *layer++, stage.dim);
    from = stage.dim;
  }
  meter.parameters(from);  // the class token
  meter.norm(from);
  meter.head(from, d.row.classes);
  return meter.total();
}

}  // namespace

const Kind kCvt{"cvt", "head", refuse_other_patches, cvt_layers, cvt_cost};

}  // namespace fib::models
