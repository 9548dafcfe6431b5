// SPDX-License-Identifier: Apache-2.0
// Gated positional attention among the patches first, then plain attention with a class token: only the latter takes
// the attention asked for.
#include "models/convit.h"

#include "models/kinds.h"
#include "models/meter.h"

namespace fib::models {
namespace {

constexpr int64_t kPositionFeatures = 3;

void check_convit(const Dimensions&) {}

std::vector<AttentionLayer> convit_layers(const Dimensions& d) {
  std::vector<AttentionLayer> layers;
  for (int64_t block = d.row.local_blocks; block < d.row.depth; ++block) {
    layers.push_back(square_layer(spec_of(d, true), {d.row.dim, d.row.heads, 1, d.grid(), block}));
  }
  return layers;
}

/// Scores of content and of position; their mixture meets the values once.
void count_local_block(Meter& meter, const Dimensions& d) {
  const AttentionLayer layer = local_layer(d);
  const int64_t tokens = d.grid().tokens(), dim = d.row.dim, heads = d.row.heads;
  meter.norm(dim);
  meter.parameters(heads + (kPositionFeatures + 1) * heads);  // gates; the map of positions
  meter.linear(&Cost::qkv, tokens, {dim, 3 * dim, false});
  meter.attention(layer);
  meter.macs(&Cost::scores, static_cast<double>(tokens * tokens * kPositionFeatures * heads));
  meter.linear(&Cost::projection, tokens, {dim, dim});
  meter.norm(dim);
  meter.mlp(tokens, dim, d.hidden());
}

Cost convit_cost(const Dimensions& d) {
  const int64_t patches = d.grid().tokens(), dim = d.row.dim;
  Meter meter(patches + 1);
  meter.conv(&Cost::patch_embed, patches, {d.options.channels, dim, d.row.patch, false, true});
  meter.parameters((patches + 1) * dim);  // positions and the class token
  for (int64_t block = 0; block < d.row.local_blocks; ++block) count_local_block(meter, d);
  for (const AttentionLayer& layer : convit_layers(d)) {
    meter.norm(dim);
    meter.self_attention(layer, dim, false);
    meter.norm(dim);
    meter.mlp(patches + 1, dim, d.hidden());
  }
  meter.norm(dim);
  meter.head(dim, d.row.classes);
  return meter.total();
}

}  // namespace

AttentionLayer local_layer(const Dimensions& d) {
  AttentionLayer layer = square_layer(spec_of(d, false), {d.row.dim, d.row.heads, 0, d.grid(), 0});
  layer.replaced = false;
  return layer;
}

const Kind kConvit{"convit", "head", check_convit, convit_layers, convit_cost};

}  // namespace fib::models
