// SPDX-License-Identifier: Apache-2.0
#include "attention/cost.h"

#include <algorithm>

namespace fib::attention {
namespace {

double all_pairs(const Geometry& g) {
  return static_cast<double>(g.heads) * static_cast<double>(g.query_tokens()) * static_cast<double>(g.key_tokens());
}

/// Pairs that each cost d for the score and e for the value.
Cost of_pairs(const Geometry& g, int64_t pairs, double pruning_ratio) {
  Cost c;
  c.pairs = pairs;
  c.pruning_ratio = pruning_ratio;
  c.pruning_ratio_with_cls = 1.0 - static_cast<double>(pairs) / all_pairs(g);
  c.score_macs = all_pairs(g) * (1.0 - pruning_ratio) * static_cast<double>(g.head_dim);
  c.value_macs = all_pairs(g) * (1.0 - pruning_ratio) * static_cast<double>(g.value_dim);
  c.executed_macs = static_cast<double>(pairs * (g.head_dim + g.value_dim));
  return c;
}

Cost of_support(const AttentionSpec& spec, const Geometry& g) {
  const SupportSet support = layer_support(spec, g);
  return of_pairs(g, support.pairs(), support.pruning_ratio());
}

/// Which keys are the largest is known only once all scores are: top-k saves nothing there.
Cost of_topk(const AttentionSpec& spec, const Geometry& g) {
  const int64_t k = std::min(integer_option(spec, "k", 1, g.key_grid.tokens()), g.key_tokens());
  Cost c =
      of_pairs(g, g.heads * g.query_tokens() * k, 1.0 - static_cast<double>(k) / static_cast<double>(g.key_tokens()));
  c.score_macs = all_pairs(g) * static_cast<double>(g.head_dim);
  c.executed_macs = c.score_macs + c.value_macs;
  return c;
}

/// Projecting keys and values from Tk tokens to k is counted as executed, not in the paper's way.
Cost of_linformer(const AttentionSpec& spec, const Geometry& g) {
  const int64_t k = integer_option(spec, "k", 1, g.key_grid.tokens());
  const int64_t pairs = g.heads * g.query_tokens() * k;
  Cost c = of_pairs(g, pairs, 1.0 - static_cast<double>(k) / static_cast<double>(g.key_grid.tokens()));
  c.score_macs = static_cast<double>(pairs * g.head_dim);
  c.value_macs = static_cast<double>(pairs * g.value_dim);
  c.executed_macs += static_cast<double>(g.heads * k * g.key_tokens() * (g.head_dim + g.value_dim));
  c.parameters = 2 * k * g.key_tokens();
  return c;
}

/// Its two products, kᵀv and q(kᵀv), stand where others have scores and values; the ratio is the one of the paper's
/// table, N d / T² of the pairs.
Cost of_efficient(const AttentionSpec& spec, const Geometry& g) {
  const int64_t dim = query_key_dim(spec, g);
  const double tokens = static_cast<double>(g.query_tokens()) * static_cast<double>(g.key_tokens());
  Cost c = of_pairs(g, g.heads * g.query_tokens() * dim, 1.0 - static_cast<double>(g.key_grid.tokens() * dim) / tokens);
  c.score_macs = static_cast<double>(g.heads * g.key_tokens() * dim * g.value_dim);
  c.value_macs = static_cast<double>(g.heads * g.query_tokens() * dim * g.value_dim);
  c.executed_macs = c.score_macs + c.value_macs;
  return c;
}

}  // namespace

Cost cost(const AttentionSpec& spec, const Geometry& geometry) {
  check_spec(spec);
  switch (find_entry(spec.name).family) {
    case Family::dense:
      return of_pairs(geometry, static_cast<int64_t>(all_pairs(geometry)), 0.0);
    case Family::topk:
      return of_topk(spec, geometry);
    case Family::linformer:
      return of_linformer(spec, geometry);
    case Family::efficient:
      return of_efficient(spec, geometry);
    case Family::support:
      break;
  }
  return of_support(spec, geometry);
}

}  // namespace fib::attention
