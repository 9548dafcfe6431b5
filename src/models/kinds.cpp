// SPDX-License-Identifier: Apache-2.0
#include "models/kinds.h"

#include <stdexcept>

#include "attention/catalogue.h"

namespace fib::models {

const Kind& kind_of(const Row& row) {
  for (const Kind* kind : {&kVit, &kConvit, &kSwin, &kIformer, &kCvt, &kMvit}) {
    if (row.kind == kind->name) return *kind;
  }
  throw std::logic_error("model " + row.name + " is of an unknown kind: " + row.kind);
}

void refuse_other_patches(const Dimensions& dims) {
  const int64_t own = find_row(dims.row.name).patch;
  if (dims.row.patch == own) return;
  throw std::invalid_argument(dims.row.name + " makes tokens of " + std::to_string(own) + " x " + std::to_string(own) +
                              " pixels with convolutions, got a patch of " + std::to_string(dims.row.patch));
}

AttentionSpec spec_of(const Dimensions& dims, bool replaced) {
  const AttentionSpec& asked = dims.options.attention;
  const bool dense = attention::find_entry(asked.name).family == attention::Family::dense;
  return replaced || dense ? asked : AttentionSpec{"full", {}};
}

AttentionLayer square_layer(const AttentionSpec& spec, const LayerPlace& place) {
  AttentionLayer layer{spec, {}};
  attention::Geometry& g = layer.geometry;
  g.heads = place.heads;
  g.head_dim = g.value_dim = place.dim / place.heads;
  g.cls = place.cls;
  g.query_grid = g.key_grid = place.grid;
  g.layer = place.layer;
  g.head_dim = attention::query_key_dim(spec, g);
  return layer;
}

attention::Grid halved(const attention::Grid& grid) { return {(grid.height + 1) / 2, (grid.width + 1) / 2}; }

std::string classifier_of(const Row& row) { return kind_of(row).classifier; }

std::vector<AttentionLayer> attention_layers(const Dimensions& dims) { return kind_of(dims.row).layers(dims); }

Cost cost(const Dimensions& dims) { return kind_of(dims.row).cost(dims); }

}  // namespace fib::models
