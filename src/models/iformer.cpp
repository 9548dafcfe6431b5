// SPDX-License-Identifier: Apache-2.0
// Convolutions on large grids, single-head attention on the two smallest.
#include "models/kinds.h"

namespace fib::models {
namespace {

struct HiddenRatios {
  int64_t conv, ffn;
};

/// Stages are given by width and layout.
ModelRow iformer(const char* name, int64_t resolution, std::vector<Stage> stages, HiddenRatios ratios,
                 int64_t classes = 1000) {
  for (Stage& stage : stages) stage.depth = static_cast<int64_t>(stage.layout.size());
  ModelRow row = staged_row(name, resolution, 4, std::move(stages), classes);
  row.conv_ratio = ratios.conv;
  row.ffn_ratio = ratios.ffn;
  row.crop_ratio = 0.875;
  return row;
}

std::vector<ModelRow> iformer_rows() {
  return {
      iformer("iFormer_t", 224,
              {{.dim = 32, .layout = "cc"},
               {.dim = 64, .layout = "cc"},
               {.dim = 128, .layout = "ccccccpafpafpafc"},
               {.dim = 256, .layout = "pafpaf"}},
              {3, 2}),
      iformer("iFormer_s", 224,
              {{.dim = 32, .layout = "cc"},
               {.dim = 64, .layout = "cc"},
               {.dim = 176, .layout = "cccccccccpafpafpafc"},
               {.dim = 320, .layout = "pafpaf"}},
              {4, 3}),
      iformer("iFormer_m", 224,
              {{.dim = 48, .layout = "cc"},
               {.dim = 96, .layout = "cc"},
               {.dim = 192, .layout = "cccccccccpafpafpafpafc"},
               {.dim = 384, .layout = "pafpaf"}},
              {4, 3}),
      in_group(ModelGroup::test, iformer("mini_iformer", 64,
                                         {{.dim = 8, .layout = "c"},
                                          {.dim = 16, .layout = "c"},
                                          {.dim = 24, .layout = "cpafc"},
                                          {.dim = 32, .layout = "paf"}},
                                         {3, 2}, 10)),
  };
}

/// Queries and keys are this much narrower than values, by stage.
constexpr int64_t kQueryReduction[] = {1, 1, 2, 4};

std::vector<attention::Grid> iformer_grids(const Dimensions& d) {
  std::vector<attention::Grid> list = {halved(halved({d.height, d.width}))};
  while (list.size() < d.row.stages.size()) list.push_back(halved(list.back()));
  return list;
}

AttentionLayer iformer_layer(const Dimensions& d, size_t stage, int64_t layer) {
  const int64_t dim = d.row.stages[stage].dim;
  AttentionLayer place = square_layer(d, true, {dim, 1, 0, iformer_grids(d)[stage], layer});
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

void conv_norm(CostCounter& count, CostCounter::Part part, int64_t outputs, const ConvShape& shape) {
  count.conv(part, outputs, shape);
  count.norm(shape.to);
}

void count_stem(CostCounter& count, const Dimensions& d) {
  const int64_t half = d.row.dim / 2;
  const attention::Grid first = halved({d.height, d.width}), second = halved(first);
  conv_norm(count, &Cost::patch_embed, first.tokens(), {d.options.channels, half, 5});
  conv_norm(count, &Cost::patch_embed, second.tokens(), {half, 4 * half, 5});
  conv_norm(count, &Cost::patch_embed, second.tokens(), {4 * half, d.row.dim});
}

void count_iformer_attention(CostCounter& count, const AttentionLayer& layer, int64_t dim) {
  const int64_t tokens = layer.geometry.query_tokens(), qk = layer.geometry.head_dim;
  for (int64_t channels : {qk, qk, 2 * dim}) conv_norm(count, &Cost::qkv, tokens, {dim, channels});
  count.attention(layer);
  conv_norm(count, &Cost::projection, tokens, {dim, dim});
}

void count_convolutions(CostCounter& count, const ModelRow& row, char letter, int64_t dim, int64_t tokens) {
  if (letter == 'c') conv_norm(count, &Cost::mlp, tokens, {dim, dim, 7, true});
  if (letter == 'p') conv_norm(count, &Cost::mlp, tokens, {dim, dim, 3, true});
  if (letter == 'p') return;
  const int64_t hidden = dim * (letter == 'c' ? row.conv_ratio : row.ffn_ratio);
  conv_norm(count, &Cost::mlp, tokens, {dim, hidden});
  conv_norm(count, &Cost::mlp, tokens, {hidden, dim});
}

Cost iformer_cost(const Dimensions& d) {
  const std::vector<attention::Grid> grid = iformer_grids(d);
  const std::vector<AttentionLayer> layers = iformer_layers(d);
  CostCounter count(grid[0].tokens());
  count_stem(count, d);
  auto layer = layers.begin();
  for (size_t s = 0; s < d.row.stages.size(); ++s) {
    const Stage& stage = d.row.stages[s];
    if (s > 0) conv_norm(count, &Cost::patch_embed, grid[s].tokens(), {d.row.stages[s - 1].dim, stage.dim, 3});
    for (char letter : stage.layout) {
      if (letter == 'a') {
        count_iformer_attention(count, *layer++, stage.dim);
      } else {
        count_convolutions(count, d.row, letter, stage.dim, grid[s].tokens());
      }
    }
  }
  count.norm(d.row.stages.back().dim);
  count.head(d.row.stages.back().dim, d.row.classes);
  return count.total();
}

}  // namespace

const Kind kIformer{"iformer",
                    "classifier.classifier.l",
                    "downsample_layers.0.0.c.weight",
                    false,
                    iformer_rows,
                    refuse_other_patches,
                    iformer_layers,
                    iformer_cost};

}  // namespace fib::models
