// SPDX-License-Identifier: Apache-2.0
#include "patterns/makers.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "patterns/random_pairs.h"

namespace fib {
namespace {

/// Offsets and pairs are listed in memory; beyond a gibibyte of them a typing error is likelier than a wish.
constexpr double kMaxListed = 134217728.0;

/// Apart from other uses of the same seed.
constexpr uint64_t kPairStream = 1;

void check_listed(double per_head, const PatternGeometry& g, const char* what) {
  const double total = per_head * static_cast<double>(g.heads);
  if (total <= kMaxListed) return;
  throw std::invalid_argument("this support would list " + std::to_string(static_cast<int64_t>(per_head)) + " " + what +
                              " in each of " + std::to_string(g.heads) + " heads over " + std::to_string(g.patches) +
                              " tokens; at most " + std::to_string(static_cast<int64_t>(kMaxListed)) + " in all");
}

std::vector<HeadPattern> same_heads(const PatternGeometry& g, const HeadPattern& head) {
  return std::vector<HeadPattern>(static_cast<size_t>(g.heads), head);
}

/// Multiples of a step within a window; these are the sequences that can be long.
std::vector<int64_t> multiples_within(int64_t step, int64_t window, const PatternGeometry& g) {
  const int64_t reach = std::min(window, g.patches - 1);
  const int64_t count = reach / step;
  check_listed(static_cast<double>(count), g, "offsets");
  return windowed_offsets(multiples_of(step), window, g.patches);
}

HeadPattern window_head(int64_t window, bool diagonal, const PatternGeometry& g) {
  return {window, multiples_within(1, window, g), diagonal, {}};
}

void add_pairs_to_all(std::vector<HeadPattern>& heads, int64_t count, const OptionValues& o, const PatternGeometry& g) {
  check_listed(static_cast<double>(count), g, "random pairs");
  const uint64_t seed = static_cast<uint64_t>(o.integer("seed", 0)), layer = static_cast<uint64_t>(g.layer.value_or(0));
  for (size_t h = 0; h < heads.size(); ++h) {
    CounterRng rng(seed, {kPairStream, layer, h});
    add_random_pairs(heads[h], count, g, rng);
  }
}

struct WindowRange {
  int64_t wmin;
  int64_t wmax;
};

WindowRange window_range(const OptionValues& o) {
  const int64_t wmax = o.integer("wmax");
  return {o.integer_or("wmin", std::min<int64_t>(5, wmax)), wmax};
}

template <class RowOf>
std::vector<HeadPattern> spread_heads(const OptionValues& o, const PatternGeometry& g, RowOf row_of) {
  const auto [wmin, wmax] = window_range(o);
  std::vector<HeadPattern> heads;
  for (int64_t i = 1; i <= g.heads; ++i) {
    const int64_t window = head_window(i, g.heads, wmin, wmax);
    heads.push_back({window, windowed_offsets(fibonacci_sequence(row_of(i)), window, g.patches), false, {}});
  }
  return heads;
}

}  // namespace

std::vector<HeadPattern> make_full(const OptionValues&, const PatternGeometry& g) {
  return same_heads(g, window_head(g.patches, true, g));
}

std::vector<HeadPattern> make_local(const OptionValues& o, const PatternGeometry& g) {
  return same_heads(g, window_head(o.integer("w"), o.flag("diagonal"), g));
}

std::vector<HeadPattern> make_longformer(const OptionValues& o, const PatternGeometry& g) {
  return same_heads(g, window_head(o.integer("w"), true, g));
}

std::vector<HeadPattern> make_bigbird(const OptionValues& o, const PatternGeometry& g) {
  std::vector<HeadPattern> heads = make_longformer(o, g);
  add_pairs_to_all(heads, o.integer("random", 0), o, g);
  return heads;
}

std::vector<HeadPattern> make_sparse_transformer(const OptionValues& o, const PatternGeometry& g) {
  const HeadPattern local = window_head(1, true, g);
  const HeadPattern strided{g.patches, multiples_within(o.integer("stride"), g.patches, g), true, {}};
  std::vector<HeadPattern> heads = same_heads(g, local);
  for (size_t h = 1; h < heads.size(); h += 2) heads[h] = strided;
  return heads;
}

std::vector<HeadPattern> make_random(const OptionValues& o, const PatternGeometry& g) {
  const double n = static_cast<double>(g.patches);
  const double count = std::round((1.0 - o.ratio("ratio")) * n * n);
  check_listed(count, g, "random pairs");
  std::vector<HeadPattern> heads = same_heads(g, {g.patches, {}, false, {}});
  add_pairs_to_all(heads, static_cast<int64_t>(count), o, g);
  return heads;
}

std::vector<HeadPattern> make_dilation(const OptionValues& o, const PatternGeometry& g) {
  const int64_t window = o.integer("w");
  return same_heads(g, {window, multiples_within(o.integer("c"), window, g), false, {}});
}

// The paper's figure (a) gives c = 2 over 196 tokens and 12 heads: 72.8 % pruned when fixed, 85.5 % when varying. All
// heads with w = N/3, against head i with w_i = 5i, gives exactly these; shifting the offsets themselves does not.
std::vector<HeadPattern> make_dilation_varying(const OptionValues& o, const PatternGeometry& g) {
  const int64_t c = o.integer("c"), step = o.integer("step");
  std::vector<HeadPattern> heads;
  for (int64_t i = 1; i <= g.heads; ++i) {
    heads.push_back({i * step, multiples_within(c, i * step, g), false, {}});
  }
  return heads;
}

std::vector<HeadPattern> make_fib_wmin(const OptionValues& o, const PatternGeometry& g) {
  const auto [wmin, wmax] = window_range(o);
  const int64_t window = head_window(g.heads, g.heads, wmin, wmax);
  return same_heads(g, {window, windowed_offsets(fibonacci_sequence({wmin, 2 * wmin}), window, g.patches), false, {}});
}

std::vector<HeadPattern> make_fib_shift(const OptionValues& o, const PatternGeometry& g) {
  const int64_t delta = o.integer("delta", 0);
  return spread_heads(o, g, [delta](int64_t i) { return SequenceStart{i + delta, i + delta}; });
}

HeadMaker rows_of(SequenceStart (*row)(int64_t)) {
  return [row](const OptionValues& o, const PatternGeometry& g) { return spread_heads(o, g, row); };
}

HeadMaker all_heads(DilationSequence sequence) {
  return [sequence](const OptionValues& o, const PatternGeometry& g) {
    const int64_t window = o.integer("w");
    return same_heads(g, {window, windowed_offsets(sequence, window, g.patches), false, {}});
  };
}

}  // namespace fib
