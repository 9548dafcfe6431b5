// SPDX-License-Identifier: Apache-2.0
#include "models/table/cost.h"

namespace fib::models {
namespace {

/// Weights and biases of a linear map.
int64_t linear(int64_t from, int64_t to) { return (from + 1) * to; }

int64_t qkv_channels(const attention::Geometry& g) { return g.heads * (2 * g.head_dim + g.value_dim); }

int64_t block_parameters(const Dimensions& d, const attention::Geometry& g) {
  const int64_t norms = int64_t{2} * 2 * d.row.dim;
  const int64_t attention = linear(d.row.dim, qkv_channels(g)) + linear(g.heads * g.value_dim, d.row.dim);
  return norms + attention + linear(d.row.dim, d.hidden()) + linear(d.hidden(), d.row.dim);
}

void add_block(Cost& total, const Dimensions& d, int64_t layer) {
  const attention::Geometry g = d.geometry(layer);
  const attention::Cost a = attention::cost(d.options.attention, g);
  const double tokens = static_cast<double>(d.tokens());
  total.qkv += tokens * static_cast<double>(d.row.dim * qkv_channels(g));
  total.scores += a.score_macs;
  total.values += a.value_macs;
  total.projection += tokens * static_cast<double>(g.heads * g.value_dim * d.row.dim);
  total.mlp += tokens * static_cast<double>(2 * d.row.dim * d.hidden());
  total.pruning_ratio += a.pruning_ratio / static_cast<double>(d.row.depth);
  total.parameters += block_parameters(d, g) + a.parameters;
}

}  // namespace

Cost cost(const Dimensions& d) {
  const int64_t patch_values = d.options.channels * d.row.patch * d.row.patch;
  Cost total;
  total.tokens = d.tokens();
  total.patch_embed = static_cast<double>(d.grid().tokens() * patch_values * d.row.dim);
  total.head = static_cast<double>(d.row.dim * d.row.classes);
  const int64_t class_token_and_norm = 3 * d.row.dim;
  total.parameters = linear(patch_values, d.row.dim) + d.tokens() * d.row.dim + class_token_and_norm +
                     linear(d.row.dim, d.row.classes);
  for (int64_t layer = 0; layer < d.row.depth; ++layer) add_block(total, d, layer);
  return total;
}

}  // namespace fib::models
