// SPDX-License-Identifier: Apache-2.0
#include "oracle/attention_cases.h"

#include <algorithm>
#include <cmath>

namespace fib::test {
namespace {

constexpr int64_t kDims[] = {1, 3, 8, 24, 32, 48, 64, 80, 128, 256, 384};
constexpr int64_t kHeads[] = {1, 3, 12, 16};
constexpr Layout kLayouts[] = {Layout::head_major, Layout::token_major, Layout::packed, Layout::padded,
                               Layout::reversed};
constexpr SupportKind kSquareSupports[] = {SupportKind::fibonacci, SupportKind::local,   SupportKind::full,
                                           SupportKind::diagonal,  SupportKind::bigbird, SupportKind::random,
                                           SupportKind::crowded,   SupportKind::nothing};

/// 32 bits from three numbers: the pairs of the random supports need variety, not quality.
uint32_t scramble(int64_t a, int64_t b, int64_t c) {
  uint64_t z = static_cast<uint64_t>(a) * 0x9E3779B97F4A7C15u + static_cast<uint64_t>(b) * 0xBF58476D1CE4E5B9u +
               static_cast<uint64_t>(c) * 0x94D049BB133111EBu;
  z = (z ^ (z >> 31)) * 0xBF58476D1CE4E5B9u;
  return static_cast<uint32_t>(z >> 32);
}

/// Sequences that grow like the Wythoff rows, each head's beginning further out.
std::vector<int64_t> fibonacci_offsets(int64_t head, int64_t patches) {
  std::vector<int64_t> offsets;
  for (int64_t a = head + 1, b = 2 * head + 3; a < std::max<int64_t>(2, patches / 3 + 1) && a < patches;) {
    offsets.push_back(a);
    const int64_t next = a + b;
    a = b, b = next;
  }
  return offsets;
}

std::vector<int64_t> offsets_up_to(int64_t window, int64_t patches) {
  std::vector<int64_t> offsets;
  for (int64_t o = 1; o <= window && o < patches; ++o) offsets.push_back(o);
  return offsets;
}

/// Row lengths vary from nothing to seven, and a few rows are long: flat lists meet every remainder.
std::vector<TokenPair> random_pairs(int64_t head, int64_t query_tokens, int64_t key_tokens) {
  std::vector<TokenPair> pairs;
  for (int64_t q = 0; q < query_tokens; ++q) {
    const int64_t count = scramble(head, q, -1) % 8 + (q % 61 == 7 ? 40 : 0);
    for (int64_t i = 0; i < count; ++i) {
      pairs.push_back({static_cast<int32_t>(q), static_cast<int32_t>(scramble(head, q, i) % key_tokens)});
    }
  }
  return pairs;
}

/// Half of all pairs, and every eleventh row without any.
std::vector<TokenPair> half_of_pairs(int64_t head, int64_t tokens) {
  std::vector<TokenPair> pairs;
  for (int64_t q = 0; q < tokens; ++q) {
    for (int64_t k = 0; k < tokens && q % 11 != 3; ++k) {
      if (scramble(head, q, k) % 2 == 0) pairs.push_back({static_cast<int32_t>(q), static_cast<int32_t>(k)});
    }
  }
  return pairs;
}

std::vector<TokenPair> all_pairs(int64_t query_tokens, int64_t key_tokens) {
  std::vector<TokenPair> pairs;
  for (int64_t i = 0; i < query_tokens * key_tokens; ++i) {
    pairs.push_back({static_cast<int32_t>(i / key_tokens), static_cast<int32_t>(i % key_tokens)});
  }
  return pairs;
}

bool is_rectangular(SupportKind kind) {
  return kind == SupportKind::rectangular || kind == SupportKind::full_rectangular;
}

HeadPattern head_pattern(SupportKind kind, int64_t head, int64_t patches, int64_t tokens) {
  switch (kind) {
    case SupportKind::fibonacci:
      return {0, fibonacci_offsets(head, patches), false, {}};
    case SupportKind::local:
      return {0, offsets_up_to(head % 4 + 1, patches), head % 2 == 0, {}};
    case SupportKind::full:
      return {0, offsets_up_to(patches, patches), true, {}};
    case SupportKind::diagonal:
      return {0, {}, true, {}};
    case SupportKind::bigbird:
      return {0, offsets_up_to(1, patches), true, random_pairs(head, tokens, tokens)};
    case SupportKind::random:
      return {0, {}, false, random_pairs(head, tokens, tokens)};
    case SupportKind::crowded:
      return {0, head == 0 ? offsets_up_to(1, patches) : std::vector<int64_t>{}, head == 1,
              half_of_pairs(head, tokens)};
    case SupportKind::nothing:
    case SupportKind::rectangular:
    case SupportKind::full_rectangular:
      break;
  }
  return {};
}

std::string sides(const PatchGrid& g) {
  return std::to_string(g.height) + "x" + std::to_string(g.width) + "x" + std::to_string(g.frames);
}

std::string describe(const AttentionCase& c) {
  std::string name = std::string(to_string(c.support)) + "_n" + std::to_string(c.patches) + "_cls" +
                     std::to_string(c.cls) + "_b" + std::to_string(c.batch) + "_h" + std::to_string(c.heads) + "_d" +
                     std::to_string(c.dim) + "_e" + std::to_string(c.value_dim) + "_" + to_string(c.layout);
  if (c.causal) name += "_causal";
  if (c.masking == Masking::zero) name += "_zero";
  if (c.lengths) name += "_lengths";
  if (c.bias != BiasKind::none) name += "_bias" + std::to_string(static_cast<int>(c.bias));
  if (c.dropout > 0) name += "_dropout";
  if (c.scale) name += "_scaled";
  if (c.neighbors > 0 || c.tiles.height > 0) name += "_grid" + sides(c.grid);
  if (c.neighbors > 0) name += "_neighbors" + std::to_string(c.neighbors);
  if (c.tiles.height > 0) name += "_tiles" + sides(c.tiles);
  return name;
}

void add(std::vector<AttentionCase>& cases, AttentionCase c) {
  c.name = describe(c);
  cases.push_back(std::move(c));
}

/// Token counts with all the rest rotating; few heads and channels where there are many tokens, to stay quick.
void add_token_counts(std::vector<AttentionCase>& cases) {
  int64_t i = 0;
  for (int64_t tokens : {1,  2,  3,   4,   5,   7,   8,   9,   15,  16,  17,  31,  32,  33,  61,  63,  64,
                         65, 97, 127, 128, 129, 196, 211, 255, 256, 257, 509, 512, 513, 769, 997, 1000}) {
    const bool large = tokens > 256;
    AttentionCase c{.heads = large ? kHeads[i % 2] : kHeads[i % 4], .patches = tokens, .cls = i % 3};
    c.dim = c.value_dim = large ? kDims[i % 7] : kDims[i % 11];
    c.support = kSquareSupports[large ? i % 2 : i % 7];
    c.layout = kLayouts[i % 5];
    c.causal = i % 4 == 3;
    add(cases, c);
    ++i;
  }
}

void add_dims_and_layouts(std::vector<AttentionCase>& cases) {
  int64_t i = 0;
  for (int64_t dim : kDims) {
    for (Layout layout : kLayouts) {
      AttentionCase c{.batch = 1 + i % 2, .heads = 1 + i % 3, .patches = 21 + i % 40, .cls = i % 3, .dim = dim};
      c.value_dim = i % 4 == 3 ? kDims[(i + 3) % 11] : dim;
      c.support = i % 2 == 0 ? SupportKind::fibonacci : SupportKind::bigbird;
      c.layout = layout;
      add(cases, c);
      ++i;
    }
  }
}

void add_supports(std::vector<AttentionCase>& cases) {
  for (SupportKind support : kSquareSupports) {
    for (bool causal : {false, true}) {
      for (int64_t cls : {0, 1, 2}) {
        AttentionCase c{.heads = 3, .patches = 70 + cls, .cls = cls, .dim = 24, .value_dim = 8, .support = support};
        c.causal = causal;
        add(cases, c);
      }
    }
  }
  for (int64_t patches : {1, 5, 40, 133}) {  // 2 * patches / 3 + 1 queries
    AttentionCase c{.batch = 2, .heads = 3, .patches = patches, .dim = 16, .value_dim = 20};
    c.support = SupportKind::rectangular;
    c.bias = patches == 40 ? BiasKind::per_head : BiasKind::none;
    c.lengths = patches == 133;
    add(cases, c);
  }
}

/// Heads of few channels on offsets and class tokens alone, which have kernels of their own; sizes around those of
/// vectors.
void add_narrow_heads(std::vector<AttentionCase>& cases) {
  int64_t i = 0;
  for (SupportKind support : {SupportKind::fibonacci, SupportKind::local, SupportKind::full, SupportKind::diagonal}) {
    for (int64_t patches : {1, 7, 15, 16, 49, 196}) {
      AttentionCase c{.batch = 2, .heads = 3, .patches = patches, .cls = i % 4, .dim = i % 5 == 4 ? 32 : 8};
      c.value_dim = 8 + i % 3 / 2 * 8;
      c.support = support;
      c.layout = kLayouts[i++ % 5];
      add(cases, c);
      c.masking = Masking::zero;
      add(cases, c);
    }
  }
}

/// So many heads that a task of backward is a head, with what its pairs leave for the gradients of keys; all that may
/// change these pairs.
void add_many_heads(std::vector<AttentionCase>& cases) {
  int64_t i = 0;
  for (SupportKind support : {SupportKind::fibonacci, SupportKind::local, SupportKind::diagonal}) {
    for (int64_t patches : {1, 17, 48, 133}) {
      AttentionCase c{.batch = 6, .heads = 12, .patches = patches, .cls = i % 4, .dim = 64, .value_dim = 40};
      c.support = support;
      c.layout = kLayouts[i % 5];
      c.causal = i % 2 == 1;
      c.lengths = i % 3 == 1;
      c.dropout = i % 3 == 2 ? 0.2 : 0.0;
      add(cases, c);
      ++i;
    }
  }
}

/// Heads large enough for their rows to be copied together where they lie far apart.
void add_large_heads(std::vector<AttentionCase>& cases) {
  for (Layout layout : {Layout::token_major, Layout::packed}) {
    for (SupportKind support : {SupportKind::fibonacci, SupportKind::bigbird}) {
      AttentionCase c{.batch = 2, .heads = 2, .patches = 600, .cls = 1, .dim = 128, .value_dim = 128};
      c.support = support;
      c.layout = layout;
      c.causal = layout == Layout::packed && support == SupportKind::fibonacci;
      add(cases, c);
    }
  }
}

void add_options(std::vector<AttentionCase>& cases) {
  for (SupportKind support : {SupportKind::fibonacci, SupportKind::bigbird, SupportKind::full, SupportKind::crowded}) {
    for (int64_t patches : {1, 6, 37, 150}) {
      AttentionCase base{.batch = 4, .heads = 3, .patches = patches, .cls = patches % 3, .dim = 8, .value_dim = 12};
      base.support = support;
      base.layout = kLayouts[patches % 5];
      AttentionCase zero = base, lengths = base, dropout = base, scaled = base, everything = base;
      scaled.scale = 0.7;
      zero.masking = Masking::zero;
      lengths.lengths = true;
      dropout.dropout = 0.3;
      everything.bias = BiasKind::grouped;
      everything.lengths = everything.causal = true;
      everything.dropout = 0.1;
      for (const AttentionCase& c : {zero, lengths, dropout, scaled, everything}) add(cases, c);
      for (BiasKind bias : {BiasKind::shared, BiasKind::per_head, BiasKind::grouped}) {
        AttentionCase c = base;
        c.bias = bias;
        add(cases, c);
      }
    }
  }
}

/// Neighbors alone on grids narrower and wider than a vector, images and clips, with all that goes with them.
void add_neighbors(std::vector<AttentionCase>& cases) {
  constexpr PatchGrid kGrids[] = {{1, 1},  {1, 7},   {7, 1},  {2, 2},    {3, 5},    {5, 3},     {6, 6},  {14, 14},
                                  {9, 16}, {12, 11}, {4, 33}, {3, 5, 4}, {6, 7, 2}, {2, 3, 17}, {5, 70}, {32, 32}};
  int64_t i = 0;
  for (const PatchGrid& grid : kGrids) {
    for (SupportKind support : {SupportKind::fibonacci, SupportKind::nothing, SupportKind::bigbird}) {
      AttentionCase c{.batch = 1 + i % 2, .heads = 1 + i % 3, .cls = i % 3, .dim = kDims[2 + i % 6]};
      c.value_dim = i % 4 == 3 ? 24 : c.dim;
      c.support = support;
      c.layout = kLayouts[i % 5];
      c.causal = i % 5 == 4;
      c.masking = i % 5 == 2 ? Masking::zero : Masking::exclude;
      c.lengths = i % 7 == 3 && c.masking == Masking::exclude;
      c.dropout = i % 7 == 5 && c.masking == Masking::exclude ? 0.2 : 0.0;
      c.bias = i % 7 == 6 && c.masking == Masking::exclude ? BiasKind::per_head : BiasKind::none;
      add(cases, on_grid(c, grid, 1 + 2 * (1 + i % 3)));
      ++i;
    }
  }
  AttentionCase many{.batch = 6, .heads = 12, .cls = 1, .dim = 32, .value_dim = 32};
  add(cases, on_grid(many, {12, 11}, 3));
  many.support = SupportKind::local, many.layout = Layout::packed;
  add(cases, on_grid(many, {14, 14}, 5));
  AttentionCase crowded{.batch = 2, .heads = 3, .cls = 1, .dim = 24, .value_dim = 8};
  crowded.support = SupportKind::crowded;
  add(cases, on_grid(crowded, {8, 9}, 3));
}

/// Tiles that divide the grid evenly and not, of one patch and of all.
void add_summaries(std::vector<AttentionCase>& cases) {
  constexpr PatchGrid kGrids[][2] = {{{1, 1}, {1, 1}},        {{1, 7}, {1, 3}},    {{7, 5}, {7, 5}},
                                     {{6, 6}, {1, 1}},        {{14, 14}, {4, 4}},  {{13, 17}, {3, 5}},
                                     {{9, 16}, {4, 3}},       {{5, 6, 4}, {2, 2}}, {{5, 6, 4}, {2, 3, 3}},
                                     {{3, 2, 17}, {2, 1, 5}}, {{10, 14}, {7, 7}},  {{24, 23}, {4, 4}}};
  int64_t i = 0;
  for (const auto& [grid, tiles] : kGrids) {
    for (SupportKind support : {SupportKind::fibonacci, SupportKind::nothing, SupportKind::bigbird}) {
      AttentionCase c{.batch = 1 + i % 2, .heads = 1 + i % 3, .cls = i % 3, .dim = kDims[i % 9]};
      c.value_dim = i % 4 == 3 ? kDims[(i + 3) % 9] : c.dim;
      c.support = support;
      c.layout = kLayouts[i % 5];
      c.dropout = i % 4 == 1 ? 0.3 : 0.0;
      if (i % 4 == 2) c.scale = 1.3 / std::sqrt(static_cast<double>(c.dim));
      if (i % 5 == 3) c.bias = i % 2 == 0 ? BiasKind::shared : BiasKind::per_head;
      add(cases, on_grid(c, grid, i % 2 == 0 ? 3 : 0, tiles));
      ++i;
    }
  }
  AttentionCase many{.batch = 6, .heads = 12, .cls = 1, .dim = 64, .value_dim = 64};
  add(cases, on_grid(many, {12, 11}, 3, {4, 4}));
  many.dropout = 0.2, many.layout = Layout::packed;
  add(cases, on_grid(many, {14, 14}, 3, {4, 4}));
  AttentionCase classes{.batch = 1, .heads = 2, .cls = 9, .dim = 8, .value_dim = 8};
  add(cases, on_grid(classes, {20, 33}, 3, {3, 4}));
}

}  // namespace

AttentionCase on_grid(AttentionCase c, const PatchGrid& grid, int64_t neighbors, const PatchGrid& tiles) {
  c.patches = grid.tokens();
  c.grid = grid;
  c.neighbors = neighbors;
  c.tiles = tiles;
  return c;
}

AttentionShape AttentionCase::shape() const {
  const int64_t tokens = cls + patches;
  const int64_t queries = is_rectangular(support) ? 2 * patches / 3 + 1 : tokens;
  return {batch, heads, queries, tokens, dim, value_dim};
}

SupportSet AttentionCase::make_support() const {
  const AttentionShape s = shape();
  if (is_rectangular(support)) {
    std::vector<std::vector<TokenPair>> lists;
    for (int64_t h = 0; h < heads; ++h) {
      lists.push_back(support == SupportKind::rectangular ? random_pairs(h, s.query_tokens, s.key_tokens)
                                                          : all_pairs(s.query_tokens, s.key_tokens));
    }
    return SupportSet::rectangular(s.query_tokens, s.key_tokens, std::move(lists));
  }
  std::vector<HeadPattern> patterns;
  for (int64_t h = 0; h < heads; ++h) {
    patterns.push_back(head_pattern(support, h, patches, s.key_tokens));
    if (neighbors == 0) continue;
    patterns.back().neighbors = grid_neighbors(grid, neighbors);
    // Heads differ in whether a patch is its own neighbor.
    patterns.back().diagonal |= h % 2 == 0;
  }
  return SupportSet(patches, cls, std::move(patterns), causal,
                    tiles.height > 0 ? std::optional(Tiling{grid, tiles}) : std::nullopt);
}

void AttentionCase::make_dense() {
  support = is_rectangular(support) ? SupportKind::full_rectangular : SupportKind::full;
  masking = Masking::exclude;
  neighbors = 0, tiles = {0};
  name = describe(*this);
}

std::vector<int64_t> AttentionCase::make_lengths() const {
  std::vector<int64_t> result;
  for (int64_t b = 0; lengths && b < batch; ++b)
    result.push_back(shape().key_tokens * (batch - b - 1) / std::max<int64_t>(1, batch - 1));
  return result;
}

const char* to_string(SupportKind kind) {
  constexpr const char* names[] = {"fibonacci", "local",   "full",    "diagonal",    "bigbird",
                                   "random",    "crowded", "nothing", "rectangular", "full_rectangular"};
  return names[static_cast<size_t>(kind)];
}

const char* to_string(Layout layout) {
  constexpr const char* names[] = {"head_major", "token_major", "packed", "padded", "reversed"};
  return names[static_cast<size_t>(layout)];
}

std::vector<AttentionCase> attention_cases() {
  std::vector<AttentionCase> cases;
  add_token_counts(cases);
  add_dims_and_layouts(cases);
  add_supports(cases);
  add_narrow_heads(cases);
  add_many_heads(cases);
  add_large_heads(cases);
  add_options(cases);
  add_neighbors(cases);
  add_summaries(cases);
  return cases;
}

}  // namespace fib::test
