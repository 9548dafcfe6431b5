// SPDX-License-Identifier: Apache-2.0
// Attention inside windows, each a sample of its own; four tokens become one from stage to stage.
#include <stdexcept>

#include "models/kinds.h"
#include "models/meter.h"

namespace fib::models {
namespace {

/// Windows must tile the grid of the last stage, which is the smallest.
void check_swin(const Dimensions& d) {
  const int64_t step = d.row.patch * d.row.window << (d.row.stages.size() - 1);
  if (d.height % step == 0 && d.width % step == 0) return;
  throw std::invalid_argument(d.row.name + " takes pictures whose sides are multiples of " + std::to_string(step) +
                              " (patches of " + std::to_string(d.row.patch) + ", windows of " +
                              std::to_string(d.row.window) + " tokens, " + std::to_string(d.row.stages.size()) +
                              " stages), got " + std::to_string(d.height) + " x " + std::to_string(d.width));
}

AttentionLayer swin_layer(const Dimensions& d, const Stage& stage, int64_t depth) {
  const bool replaced = &stage - d.row.stages.data() < d.row.replaced;
  AttentionLayer layer =
      square_layer(spec_of(d, replaced), {stage.dim, stage.heads, 0, {d.row.window, d.row.window}, depth});
  layer.replaced = replaced;
  layer.geometry.bias = true;
  return layer;
}

std::vector<AttentionLayer> swin_layers(const Dimensions& d) {
  std::vector<AttentionLayer> layers;
  int64_t tokens = d.grid().tokens();
  for (const Stage& stage : d.row.stages) {
    for (int64_t block = 0; block < stage.depth; ++block) {
      layers.push_back(swin_layer(d, stage, static_cast<int64_t>(layers.size())));
      layers.back().samples = tokens / (d.row.window * d.row.window);
    }
    tokens /= 4;
  }
  return layers;
}

void count_swin_block(Meter& meter, const AttentionLayer& layer, int64_t dim, int64_t window) {
  const int64_t span = 2 * window - 1;  // distances in one direction
  meter.norm(dim);
  meter.parameters(span * span * layer.geometry.heads);
  meter.self_attention(layer, dim);
  meter.norm(dim);
  meter.mlp(layer.samples * layer.geometry.query_tokens(), dim, 4 * dim);
}

Cost swin_cost(const Dimensions& d) {
  int64_t tokens = d.grid().tokens();
  Meter meter(tokens);
  meter.conv(&Cost::patch_embed, tokens, {d.options.channels, d.row.dim, d.row.patch, false, true});
  meter.norm(d.row.dim);
  const std::vector<AttentionLayer> layers = swin_layers(d);
  auto layer = layers.begin();
  for (const Stage& stage : d.row.stages) {
    for (int64_t block = 0; block < stage.depth; ++block) count_swin_block(meter, *layer++, stage.dim, d.row.window);
    if (&stage == &d.row.stages.back()) break;
    tokens /= 4;
    meter.norm(4 * stage.dim);
    meter.linear(&Cost::patch_embed, tokens, {4 * stage.dim, 2 * stage.dim, false});
  }
  meter.norm(d.row.stages.back().dim);
  meter.head(d.row.stages.back().dim, d.row.classes);
  return meter.total();
}

}  // namespace

const Kind kSwin{"swin", "head", check_swin, swin_layers, swin_cost};

}  // namespace fib::models
