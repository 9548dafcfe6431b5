// SPDX-License-Identifier: Apache-2.0
#include "kernels/panel.h"

#include <algorithm>

namespace fib::kernels {
namespace {

/// `shift` is the offset's number as the query sees it.
void add_offset(const Neighbourhood& n, int64_t offset, int32_t shift, bool full_block, int64_t lanes, Panel& panel) {
  const int64_t first = panel.self + offset, last = first + panel.rows - 1;
  if (last < n.cls || first >= n.other_end) return;
  if (full_block && first >= n.cls && first + lanes <= n.other_end) {
    panel.strips.push_back({first, 1, shift});
  } else {
    panel.edges.push_back({offset, shift, nullptr});
  }
}

/// A bit for each of `lanes` consecutive integers from `first` on, set for those in the range.
uint64_t lanes_in(const PeriodicRange& range, int64_t first, int64_t lanes) {
  const uint64_t all = lanes == 64 ? ~uint64_t{0} : (uint64_t{1} << lanes) - 1;
  if (range.everything()) return all;
  const auto below = [](int64_t n) { return n >= 64 ? ~uint64_t{0} : n <= 0 ? 0 : (uint64_t{1} << n) - 1; };
  uint64_t bits = 0;
  for (int64_t begin = -(first % range.period); begin < lanes; begin += range.period)
    bits |= below(begin + range.end) & ~below(begin + range.begin);
  return bits & all;
}

/// The same for neighbors, `upwards` or below.
void add_neighbor(const Neighbourhood& n, const GridOffset& neighbor, bool upwards, int32_t shift, bool full_block,
                  int64_t lanes, Panel& panel) {
  const int64_t offset = upwards ? neighbor.offset : -neighbor.offset;
  const int64_t first = panel.self + offset;
  if (first + panel.rows <= n.cls || first >= n.other_end) return;
  if (!full_block || first < n.cls || first + lanes > n.other_end) {
    panel.edges.push_back({offset, shift, &neighbor});
    return;
  }
  const int64_t lower = (upwards ? panel.self : first) - n.cls;
  const uint64_t bits = lanes_in(neighbor.columns, lower, lanes) & lanes_in(neighbor.frames, lower, lanes);
  if (bits == 0) return;
  if (std::popcount(bits) < lanes) panel.masked.push_back({panel.strips.size(), bits});
  panel.strips.push_back({first, 1, shift});
}

void add_loose_row(const Neighbourhood& n, int64_t row, bool with_class_tokens, Panel& panel) {
  const int64_t self = panel.self + row;
  for (int64_t c = 0; with_class_tokens && c < n.class_end; ++c) panel.add_loose(row, c, 0);
  for (const Panel::Edge& edge : panel.edges) {
    const int64_t other = self + edge.offset;
    if (other < n.cls || other >= n.other_end) continue;
    if (edge.neighbor != nullptr && !edge.neighbor->contains(std::min(self, other) - n.cls)) continue;
    panel.add_loose(row, other, edge.shift);
  }
  for (int32_t other : n.pairs_of(self)) {
    if (other < n.other_end) panel.add_loose(row, other, 0);
  }
}

}  // namespace

void Panel::clear(int64_t first_row, int64_t step, int64_t row_count) {
  self = first_row, self_step = step, rows = row_count;
  strips.clear(), lane.clear(), token.clear(), shift.clear(), edges.clear(), masked.clear();
  summaries = 0;
  loose_begin.assign(1, 0);
  next.clear();
}

void Panel::add_loose(int64_t row, int64_t other, int32_t pair_shift) {
  lane.push_back(static_cast<int32_t>(row));
  token.push_back(static_cast<int32_t>(other));
  shift.push_back(pair_shift);
}

Neighbourhood keys_of_queries(const SupportSet& support, int64_t h, int64_t key_end) {
  return {&support.head(h),
          support.cls(),
          std::min(support.cls(), key_end),
          key_end,
          true,
          !support.causal(),
          true,
          support.summaries() ? support.summaries()->count() : 0};
}

Neighbourhood queries_of_keys(const SupportSet& support, int64_t h, int64_t query_end) {
  const int64_t class_end = support.causal() ? 0 : std::min(support.cls(), query_end);
  return {&support.head(h), support.cls(), class_end, query_end, !support.causal(), true, false};
}

void collect_block(const Neighbourhood& n, int64_t self, int64_t rows, int64_t lanes, Panel& panel) {
  panel.clear(self, 1, rows);
  panel.summaries = n.summaries;
  const bool full = rows == lanes;
  for (int64_t c = 0; full && c < n.class_end; ++c) panel.strips.push_back({c, 0, 0});
  if (n.head->diagonal) add_offset(n, 0, 0, full, lanes, panel);
  for (size_t i = 0; i < n.head->offsets.size(); ++i) {
    const int64_t o = n.head->offsets[i];
    if (n.below) add_offset(n, -o, shift_index(i, !n.self_is_query), full, lanes, panel);
    if (n.above) add_offset(n, o, shift_index(i, n.self_is_query), full, lanes, panel);
  }
  for (size_t i = 0; i < n.head->neighbors.size(); ++i) {
    const GridOffset& g = n.head->neighbors[i];
    const size_t number = n.head->offsets.size() + i;
    if (n.below) add_neighbor(n, g, false, shift_index(number, !n.self_is_query), full, lanes, panel);
    if (n.above) add_neighbor(n, g, true, shift_index(number, n.self_is_query), full, lanes, panel);
  }
  if (full && panel.edges.empty() && n.head->pairs.empty()) {
    panel.loose_begin.resize(static_cast<size_t>(rows) + 1, 0);
    return;
  }
  for (int64_t row = 0; row < rows; ++row) {
    add_loose_row(n, row, !full, panel);
    panel.loose_begin.push_back(panel.loose());
  }
}

void collect_class_token(int64_t class_token, int64_t begin, int64_t end, int64_t lanes, Panel& panel) {
  panel.clear(class_token, 0, 1);
  for (; begin + lanes <= end; begin += lanes) panel.strips.push_back({begin, 1, 0});
  for (; begin < end; ++begin) panel.add_loose(0, begin, 0);
  panel.loose_begin.push_back(panel.loose());
}

}  // namespace fib::kernels
