// SPDX-License-Identifier: Apache-2.0
// Every token of a picture in every block, and a class token.
#include <cmath>
#include <stdexcept>

#include "models/kinds.h"
#include "models/meter.h"

namespace fib::models {
namespace {

void check_vit(const Dimensions& d) {
  const std::vector<BlockWidth>& widths = d.options.widths;
  if (widths.empty()) return;
  if (static_cast<int64_t>(widths.size()) != d.row.depth) {
    throw std::invalid_argument(d.row.name + " has " + std::to_string(d.row.depth) + " blocks, got widths for " +
                                std::to_string(widths.size()));
  }
  for (const BlockWidth& width : widths) {
    if (width.head_dim < 1 || width.hidden < 1) throw std::invalid_argument("a block of no channels is left");
  }
}

/// A pruned layer scales its scores as before.
AttentionLayer vit_layer(const Dimensions& d, int64_t block) {
  const AttentionSpec spec = spec_of(d, true);
  const int64_t dim = d.row.heads * d.width_of(block).head_dim;
  AttentionLayer layer = square_layer(spec, {dim, d.row.heads, 1, d.grid(), block});
  if (!d.options.widths.empty()) layer.geometry.scale = 1.0 / std::sqrt(static_cast<double>(d.head_dim()));
  return layer;
}

std::vector<AttentionLayer> vit_layers(const Dimensions& d) {
  std::vector<AttentionLayer> layers;
  for (int64_t block = 0; block < d.row.depth; ++block) layers.push_back(vit_layer(d, block));
  return layers;
}

Cost vit_cost(const Dimensions& d) {
  const int64_t tokens = 1 + d.grid().tokens(), dim = d.row.dim;
  Meter meter(tokens);
  meter.conv(&Cost::patch_embed, d.grid().tokens(), {d.options.channels, dim, d.row.patch, false, true});
  meter.parameters((tokens + 1) * dim);  // positions and the class token
  for (const AttentionLayer& layer : vit_layers(d)) {
    meter.norm(dim);
    meter.self_attention(layer, dim);
    meter.norm(dim);
    meter.mlp(tokens, dim, d.width_of(*layer.geometry.layer).hidden);
  }
  meter.norm(dim);
  meter.head(dim, d.row.classes);
  return meter.total();
}

}  // namespace

const Kind kVit{"vit", "head", check_vit, vit_layers, vit_cost};

}  // namespace fib::models
