// SPDX-License-Identifier: Apache-2.0
// Convolutions on large grids, single-head attention on the two smallest.
#include "attention/catalogue.h"
#include "models/kinds.h"
#include "models/meter.h"

namespace fib::models {
namespace {

/// Queries and keys are this much narrower than values, by stage.
constexpr int64_t kQueryReduction[] = {1, 1, 2, 4};

std::vector<attention::Grid> iformer_grids(const Dimensions& d) {
  std::vector<attention::Grid> list = {halved(halved({d.height, d.width}))};
  while (list.size() < d.row.stages.size()) list.push_back(halved(list.back()));
  return list;
}

AttentionLayer iformer_layer(const Dimensions& d, size_t stage, int64_t layer) {
  const int64_t dim = d.row.stages[stage].dim;
  AttentionLayer place = square_layer(spec_of(d, true), {dim, 1, 0, iformer_grids(d)[stage], layer});
  place.geometry.head_dim = dim / kQueryReduction[stage];
  place.geometry.head_dim = attention::query_key_dim(place.attention, place.geometry);
  return place;
}

std::vector<AttentionLayer> iformer_layers(const Dimensions& d) {
  std::vector<AttentionLayer> layers;
  for (size_t s = 0; s < d.row.stages.size(); ++s) {
    for (char letter : d.row.stages[s].layout) {
      if (letter == 'a') layers.push_back(iformer_layer(d, s, static_cast<int64_t>(layers.size())));
    }
  }
  return layers;
}

void conv_norm(Meter& meter, Meter::Part part, int64_t outputs, const ConvShape& shape) {
  meter.conv(part, outputs, shape);
  meter.norm(shape.to);
}

void count_stem(Meter& meter, const Dimensions& d) {
  const int64_t half = d.row.dim / 2;
  const attention::Grid first = halved({d.height, d.width}), second = halved(first);
  conv_norm(meter, &Cost::patch_embed, first.tokens(), {d.options.channels, half, 5});
  conv_norm(meter, &Cost::patch_embed, second.tokens(), {half, 4 * half, 5});
  conv_norm(meter, &Cost::patch_embed, second.tokens(), {4 * half, d.row.dim});
}

void count_attention(Meter& meter, const AttentionLayer& layer, int64_t dim) {
  const int64_t tokens = layer.geometry.query_tokens(), qk = layer.geometry.head_dim;
  for (int64_t channels : {qk, qk, 2 * dim}) conv_norm(meter, &Cost::qkv, tokens, {dim, channels});
  meter.attention(layer);
  conv_norm(meter, &Cost::projection, tokens, {dim, dim});
}

void count_convolutions(Meter& meter, const Row& row, char letter, int64_t dim, int64_t tokens) {
  if (letter == 'c') conv_norm(meter, &Cost::mlp, tokens, {dim, dim, 7, true});
  if (letter == 'p') conv_norm(meter, &Cost::mlp, tokens, {dim, dim, 3, true});
  if (letter == 'p') return;
  const int64_t hidden = dim * (letter == 'c' ? row.conv_ratio : row.ffn_ratio);
  conv_norm(meter, &Cost::mlp, tokens, {dim, hidden});
  conv_norm(meter, &Cost::mlp, tokens, {hidden, dim});
}

Cost iformer_cost(const Dimensions& d) {
  const std::vector<attention::Grid> grid = iformer_grids(d);
  const std::vector<AttentionLayer> layers = iformer_layers(d);
  Meter meter(grid[0].tokens());
  count_stem(meter, d);
  auto layer = layers.begin();
  for (size_t s = 0; s < d.row.stages.size(); ++s) {
    const Stage& stage = d.row.stages[s];
    if (s > 0) conv_norm(meter, &Cost::patch_embed, grid[s].tokens(), {d.row.stages[s - 1].dim, stage.dim, 3});
    for (char letter : stage.layout) {
      if (letter == 'a') {
        count_attention(meter, *layer++, stage.dim);
      } else {
        count_convolutions(meter, d.row, letter, stage.dim, grid[s].tokens());
      }
    }
  }
  meter.norm(d.row.stages.back().dim);
  meter.head(d.row.stages.back().dim, d.row.classes);
  return meter.total();
}

}  // namespace

const Kind kIformer{"iformer", "classifier.classifier.l", refuse_other_patches, iformer_layers, iformer_cost};

}  // namespace fib::models
