// SPDX-License-Identifier: Apache-2.0
// TimeSformer: a clip's patches attend over time and then within their frame (divided), or all of them at once (joint).
#include "models/kinds.h"

namespace fib::models {
namespace {

ModelRow timesformer(const char* name, int64_t resolution, int64_t patch, const Stage& s, int64_t classes = 400) {
  ModelRow row{name, resolution, patch, s.dim, s.depth, s.heads, classes};
  row.frames = 8;
  row.normalization = kClipNormalization;
  row.crop_ratio = 1;  // three crops of the frames' shorter side see all of them
  return row;
}

ModelRow mini_timesformer() {
  ModelRow row = in_group(ModelGroup::test, timesformer("mini_timesformer", 64, 8, {48, 2, 3}, 10));
  row.frames = 4;
  return row;
}

std::vector<ModelRow> timesformer_rows() {
  return {
      // name, resolution, patch, {dim, depth, heads}, classes
      timesformer("timesformer_tiny_patch16_224", 224, 16, {192, 12, 3}),
      timesformer("timesformer_small_patch16_224", 224, 16, {384, 12, 6}),
      timesformer("timesformer_base_patch16_224", 224, 16, {768, 12, 12}),
      timesformer("timesformer_base_T8", 224, 16, {768, 12, 12}, 31),
      in_group(ModelGroup::small, timesformer("timesformer_micro_patch8_112", 112, 8, {96, 4, 12}, 10)),
      mini_timesformer(),
  };
}

bool is_joint(const Dimensions& d) { return d.options.attention_in == AttentionIn::joint; }

/// Each place of the grid over the frames; the class token takes no part.
AttentionLayer temporal_layer(const Dimensions& d, int64_t block) {
  const bool replaceable = d.options.attention_in != AttentionIn::spatial;
  AttentionLayer layer = square_layer(d, replaceable, {d.row.dim, d.row.heads, 0, {1, d.frames()}, block});
  layer.samples = d.grid().tokens();
  return layer;
}

/// Each frame, with a copy of the class token.
AttentionLayer spatial_layer(const Dimensions& d, int64_t block) {
  const bool replaceable = d.options.attention_in != AttentionIn::temporal;
  AttentionLayer layer = square_layer(d, replaceable, {d.row.dim, d.row.heads, 1, d.grid(), block});
  layer.samples = d.frames();
  return layer;
}

/// All patches of all frames in one sequence, of which the frames of a place are neighbors.
AttentionLayer joint_layer(const Dimensions& d, int64_t block) {
  const attention::Grid places_and_frames{d.grid().height, d.grid().width, d.frames()};
  return square_layer(d, true, {d.row.dim, d.row.heads, 1, places_and_frames, block});
}

std::vector<AttentionLayer> timesformer_layers(const Dimensions& d) {
  std::vector<AttentionLayer> layers;
  layers.reserve(static_cast<size_t>(2 * d.row.depth));
  for (int64_t block = 0; block < d.row.depth; ++block) {
    if (is_joint(d)) {
      layers.push_back(joint_layer(d, block));
      continue;
    }
    layers.push_back(temporal_layer(d, block));
    layers.push_back(spatial_layer(d, block));
  }
  return layers;
}

void count_divided_attention(CostCounter& count, const AttentionLayer& layer, int64_t dim) {
  count.norm(dim);
  count.self_attention(layer, dim);
  // What attention over time finds passes another linear map.
  const bool temporal = layer.geometry.cls == 0;
  if (temporal) count.linear(&Cost::projection, layer.samples * layer.geometry.query_tokens(), {dim, dim});
}

Cost timesformer_cost(const Dimensions& d) {
  const int64_t places = d.grid().tokens(), patches = places * d.frames(), dim = d.row.dim;
  CostCounter count(1 + patches);
  count.conv(&Cost::patch_embed, patches, {d.options.channels, dim, d.row.patch, false, true});
  count.parameters((1 + places + d.frames() + 1) * dim);  // positions, times and the class token
  for (const AttentionLayer& layer : timesformer_layers(d)) count_divided_attention(count, layer, dim);
  for (int64_t block = 0; block < d.row.depth; ++block) {
    count.norm(dim);
    count.mlp(1 + patches, dim, d.hidden());
  }
  count.norm(dim);
  count.head(dim, d.row.classes);
  return count.total();
}

}  // namespace

const Kind kTimesformer{"timesformer",    "head",  "patch_embed.proj.weight", false,
                        timesformer_rows, nullptr, timesformer_layers,        timesformer_cost};

}  // namespace fib::models
