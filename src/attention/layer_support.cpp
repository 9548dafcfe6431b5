// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>

#include "attention/registry.h"

namespace fib::attention {
namespace {

Grid coarser(const Grid& a, const Grid& b) {
  return {std::min(a.height, b.height), std::min(a.width, b.width), std::min(a.frames, b.frames)};
}

SupportSet coarse_support(const AttentionSpec& spec, const Geometry& geometry, const Grid& coarse) {
  PatternGeometry pattern;
  pattern.patches = coarse.tokens();
  pattern.grid = coarse;
  pattern.cls = geometry.cls;
  pattern.heads = geometry.heads;
  pattern.layer = geometry.layer;
  return make_support(pattern_spec(spec), pattern);
}

/// Element c lists the tokens of `fine` that lie in coarse token c; class tokens stand for themselves.
std::vector<std::vector<int32_t>> tokens_of_cells(const Grid& fine, const Grid& coarse, int64_t cls) {
  std::vector<std::vector<int32_t>> cells(static_cast<size_t>(cls + coarse.tokens()));
  for (int64_t c = 0; c < cls; ++c) cells[static_cast<size_t>(c)] = {static_cast<int32_t>(c)};
  for (int64_t t = 0; t < fine.tokens(); ++t) {
    const int64_t place = t / fine.frames, frame = t % fine.frames * coarse.frames / fine.frames;
    const int64_t row = place / fine.width * coarse.height / fine.height;
    const int64_t column = place % fine.width * coarse.width / fine.width;
    const int64_t cell = (row * coarse.width + column) * coarse.frames + frame;
    cells[static_cast<size_t>(cls + cell)].push_back(static_cast<int32_t>(cls + t));
  }
  return cells;
}

}  // namespace

AttentionSpec pattern_spec(const AttentionSpec& spec) {
  check_spec(spec);
  const std::string masking = masking_option().key;
  AttentionSpec pattern{spec.name, {}};
  for (const auto& option : spec.options) {
    if (option.first != masking) pattern.options.push_back(option);
  }
  return pattern;
}

SupportSet layer_support(const AttentionSpec& spec, const Geometry& geometry) {
  const Grid coarse = coarser(geometry.query_grid, geometry.key_grid);
  SupportSet support = coarse_support(spec, geometry, coarse);
  if (geometry.square()) return support;
  if (support.summaries()) {
    throw std::invalid_argument(spec.to_string() + ": summaries need as many queries as keys, got " +
                                std::to_string(geometry.query_grid.tokens()) + " and " +
                                std::to_string(geometry.key_grid.tokens()) + " patches");
  }

  const auto queries = tokens_of_cells(geometry.query_grid, coarse, geometry.cls);
  const auto keys = tokens_of_cells(geometry.key_grid, coarse, geometry.cls);
  std::vector<std::vector<TokenPair>> heads(static_cast<size_t>(geometry.heads));
  for (int64_t h = 0; h < geometry.heads; ++h) {
    for (size_t cell = 0; cell < queries.size(); ++cell) {
      for (int64_t key_cell : support.keys_of_row(h, static_cast<int64_t>(cell))) {
        for (int32_t query : queries[cell]) {
          for (int32_t key : keys[static_cast<size_t>(key_cell)]) heads[static_cast<size_t>(h)].push_back({query, key});
        }
      }
    }
  }
  return SupportSet::rectangular(geometry.query_tokens(), geometry.key_tokens(), std::move(heads));
}

}  // namespace fib::attention
