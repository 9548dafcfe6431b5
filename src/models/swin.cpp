// SPDX-License-Identifier: Apache-2.0
// Attention inside windows, each a sample of its own; four tokens become one from stage to stage.
#include <fmt/format.h>

#include <stdexcept>

#include "models/kinds.h"

namespace fib::models {
namespace {

/// The paper puts its attention into the first two stages, where grids are largest.
ModelRow swin(const char* name, int64_t resolution, int64_t patch, std::vector<Stage> stages, int64_t classes = 1000) {
  ModelRow row = staged_row(name, resolution, patch, std::move(stages), classes);
  row.replaced = 2;
  row.window = 7;
  return row;
}

std::vector<ModelRow> swin_rows() {
  return {
      swin("swin_tiny_patch4_window7_224", 224, 4, {{96, 2, 3}, {192, 2, 6}, {384, 6, 12}, {768, 2, 24}}),
      swin("swin_base_patch4_window7_224", 224, 4, {{128, 2, 4}, {256, 2, 8}, {512, 18, 16}, {1024, 2, 32}}),
      in_group(ModelGroup::small, swin("swin_micro_patch2_window7_28", 28, 2, {{96, 4, 6}, {192, 2, 12}}, 10)),
      in_group(ModelGroup::test, swin("mini_swin", 56, 2, {{24, 2, 2}, {48, 2, 4}}, 10)),
  };
}

/// Windows must tile the grid of the last stage, which is the smallest.
void check_swin(const Dimensions& d) {
  const int64_t step = d.row.patch * d.row.window << (d.row.stages.size() - 1);
  if (d.height % step == 0 && d.width % step == 0) return;
  throw std::invalid_argument(fmt::format(
      "{} takes images whose sides are multiples of {} (patches of {}, windows of {} tokens, {} stages), got {} x {}",
      d.row.name, step, d.row.patch, d.row.window, d.row.stages.size(), d.height, d.width));
}

AttentionLayer swin_layer(const Dimensions& d, const Stage& stage, int64_t depth) {
  const bool replaceable = &stage - d.row.stages.data() < d.row.replaced;
  AttentionLayer layer = square_layer(d, replaceable, {stage.dim, stage.heads, 0, {d.row.window, d.row.window}, depth});
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

void count_swin_block(CostCounter& count, const AttentionLayer& layer, int64_t dim, int64_t window) {
  const int64_t span = 2 * window - 1;  // distances in one direction
  count.norm(dim);
  count.parameters(span * span * layer.geometry.heads);
  count.self_attention(layer, dim);
  count.norm(dim);
  count.mlp(layer.samples * layer.geometry.query_tokens(), dim, 4 * dim);
}

Cost swin_cost(const Dimensions& d) {
  int64_t tokens = d.grid().tokens();
  CostCounter count(tokens);
  count.conv(&Cost::patch_embed, tokens, {d.options.channels, d.row.dim, d.row.patch, false, true});
  count.norm(d.row.dim);
  const std::vector<AttentionLayer> layers = swin_layers(d);
  auto layer = layers.begin();
  for (const Stage& stage : d.row.stages) {
    for (int64_t block = 0; block < stage.depth; ++block) count_swin_block(count, *layer++, stage.dim, d.row.window);
    if (&stage == &d.row.stages.back()) break;
    tokens /= 4;
    count.norm(4 * stage.dim);
    count.linear(&Cost::patch_embed, tokens, {4 * stage.dim, 2 * stage.dim, false});
  }
  count.norm(d.row.stages.back().dim);
  count.head(d.row.stages.back().dim, d.row.classes);
  return count.total();
}

}  // namespace

const Kind kSwin{"swin", "head", "patch_embed.proj.weight", false, swin_rows, check_swin, swin_layers, swin_cost};

}  // namespace fib::models
