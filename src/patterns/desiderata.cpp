// SPDX-License-Identifier: Apache-2.0
#include "patterns/desiderata.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <iterator>
#include <map>

namespace fib {
namespace {

bool too_large(const SupportSet& s, int64_t tokens) {
  int64_t listed = 0;
  for (int64_t h = 0; h < s.num_heads(); ++h) listed += s.head(h).pairs.size();
  if (listed > kMostDesiderataPairs) return true;
  return s.patches() > tokens || s.num_heads() > kMostDesiderataHeads || s.query_tokens() != s.key_tokens();
}

/// Pairs that lie at a distance; 0 is the diagonal.
int64_t pairs_at(const SupportSet& s, int64_t distance) {
  return (distance == 0 || s.causal() ? 1 : 2) * (s.patches() - distance);
}

/// Pairs of one step on the grid.
int64_t pairs_of(const SupportSet& s, const GridOffset& g) {
  int64_t lower = 0;
  for (int64_t p = 0; p + g.offset < s.patches(); ++p) lower += g.contains(p) ? 1 : 0;
  return (s.causal() ? 1 : 2) * lower;
}

/// Whether a head keeps all pairs of a step, as neighbors or among those of an offset.
bool keeps(const SupportSet::Head& head, const GridOffset& g) {
  return std::binary_search(head.offsets.begin(), head.offsets.end(), g.offset) ||
         std::find(head.neighbors.begin(), head.neighbors.end(), g) != head.neighbors.end();
}

/// Steps on the grid that some head keeps as neighbors, once each.
std::vector<GridOffset> steps_of(const SupportSet& s) {
  std::vector<GridOffset> steps;
  for (int64_t h = 0; h < s.num_heads(); ++h) {
    for (const GridOffset& g : s.head(h).neighbors)
      if (std::find(steps.begin(), steps.end(), g) == steps.end()) steps.push_back(g);
  }
  return steps;
}

/// How many heads keep each distance; 0 is the diagonal.
std::map<int64_t, int64_t> heads_by_distance(const SupportSet& s) {
  std::map<int64_t, int64_t> heads;
  for (int64_t h = 0; h < s.num_heads(); ++h) {
    for (int64_t o : s.head(h).offsets) ++heads[o];
    if (s.head(h).diagonal) ++heads[0];
  }
  return heads;
}

/// Pairs that some head lists, once each.
std::vector<TokenPair> listed_pairs(const SupportSet& s) {
  std::vector<TokenPair> all;
  for (int64_t h = 0; h < s.num_heads(); ++h) {
    const std::vector<TokenPair> own = s.head(h).pairs.to_vector();
    all.insert(all.end(), own.begin(), own.end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

bool is_one_of(const std::vector<GridOffset>& steps, const SupportSet& s, TokenPair p) {
  const int64_t lower = std::min(p.query, p.key) - s.cls(), distance = std::abs(p.query - p.key);
  return std::any_of(steps.begin(), steps.end(),
                     [&](const GridOffset& g) { return g.offset == distance && g.contains(lower); });
}

void count_union(Desiderata& d, const SupportSet& s) {
  const std::map<int64_t, int64_t> by_distance = heads_by_distance(s);
  const std::vector<GridOffset> steps = steps_of(s);
  for (const auto& [distance, heads] : by_distance) {
    d.union_pairs += pairs_at(s, distance);
    d.most_heads_of_a_pair = std::max(d.most_heads_of_a_pair, heads);
  }
  for (const TokenPair& p : listed_pairs(s)) {
    int64_t heads = 0;
    for (int64_t h = 0; h < s.num_heads(); ++h) heads += s.contains(h, p) ? 1 : 0;
    d.most_heads_of_a_pair = std::max(d.most_heads_of_a_pair, heads);
    if (!by_distance.contains(std::abs(p.query - p.key)) && !is_one_of(steps, s, p)) ++d.union_pairs;
  }
  for (const GridOffset& g : steps) {
    int64_t heads = 0;
    for (int64_t h = 0; h < s.num_heads(); ++h) heads += keeps(s.head(h), g) ? 1 : 0;
    d.most_heads_of_a_pair = std::max(d.most_heads_of_a_pair, heads);
    if (!by_distance.contains(g.offset)) d.union_pairs += pairs_of(s, g);
  }
  d.union_pairs += s.summary_pairs();
  if (s.summaries()) d.most_heads_of_a_pair = s.num_heads();
  const double n = static_cast<double>(s.patches());
  d.union_share = static_cast<double>(d.union_pairs) / (n * n);
}

void count_overlap(Desiderata& d, const SupportSet& s) {
  const auto table = overlap(s);
  double sum = 0;
  for (size_t a = 0; a < table.size(); ++a) {
    for (size_t b = 0; b < a; ++b) {
      sum += table[a][b];
      d.greatest_overlap = std::max(d.greatest_overlap, table[a][b]);
    }
  }
  const auto heads = static_cast<double>(table.size());
  if (table.size() > 1) d.mean_overlap = sum / (heads * (heads - 1) / 2);
}

int64_t rows_without_key(const SupportSet& s) {
  std::vector<int64_t> in_all = s.empty_rows(0);
  for (int64_t h = 1; h < s.num_heads() && !in_all.empty(); ++h) {
    std::vector<int64_t> both;
    const std::vector<int64_t> own = s.empty_rows(h);
    std::set_intersection(in_all.begin(), in_all.end(), own.begin(), own.end(), std::back_inserter(both));
    in_all = std::move(both);
  }
  return static_cast<int64_t>(in_all.size());
}

/// Which patch tokens each patch token knows of: a row of bits for each.
class Knowledge {
 public:
  explicit Knowledge(int64_t patches) : patches_(patches), words_((patches + 63) / 64) {
    bits_.resize(static_cast<size_t>(patches * words_));
    for (int64_t t = 0; t < patches; ++t) row(t)[t / 64] |= UINT64_C(1) << (t % 64);
  }

  /// A layer: each query learns what its keys in heads [first, last) knew before.
  void learn(const SupportSet& s, int64_t first, int64_t last) {
    if (share() == 1.0) return;
    if (s.summaries()) return learn_everything();
    Knowledge before = *this;
    for (int64_t q = 0; q < patches_; ++q)
      for (int64_t h = first; h < last; ++h)
        for (const int64_t key : s.keys_of_row(h, s.cls() + q))
          if (key >= s.cls()) add(row(q), before.row(key - s.cls()));
  }

  /// A mean holds something of every patch of its tile.
  void learn_everything() {
    for (int64_t t = 0; t < patches_; ++t)
      for (int64_t other = 0; other < patches_; ++other) row(t)[other / 64] |= UINT64_C(1) << (other % 64);
  }

  double share() const {
    int64_t known = 0;
    for (const uint64_t word : bits_) known += std::popcount(word);
    const double n = static_cast<double>(patches_);
    return static_cast<double>(known) / (n * n);
  }

 private:
  void add(uint64_t* to, const uint64_t* from) const {
    for (int64_t w = 0; w < words_; ++w) to[w] |= from[w];
  }
  uint64_t* row(int64_t token) { return bits_.data() + token * words_; }

  int64_t patches_, words_;
  std::vector<uint64_t> bits_;
};

}  // namespace

int64_t shared_pairs(const SupportSet& s, int64_t a, int64_t b) {
  const SupportSet::Head &x = s.head(a), &y = s.head(b);
  std::vector<int64_t> offsets;
  std::set_intersection(x.offsets.begin(), x.offsets.end(), y.offsets.begin(), y.offsets.end(),
                        std::back_inserter(offsets));
  int64_t count = (x.diagonal && y.diagonal ? s.patches() : 0) + s.summary_pairs();
  for (const GridOffset& g : x.neighbors) count += keeps(y, g) ? pairs_of(s, g) : 0;
  // Those that are neighbors in both heads are counted already.
  for (const GridOffset& g : y.neighbors)
    count += std::binary_search(x.offsets.begin(), x.offsets.end(), g.offset) ? pairs_of(s, g) : 0;
  for (int64_t o : offsets) count += pairs_at(s, o);
  for (const TokenPair& p : x.pairs.to_vector()) count += s.contains(b, p) ? 1 : 0;
  // Those that are listed in both heads are counted already.
  for (const TokenPair& p : y.pairs.to_vector()) count += s.contains(a, p) && !x.pairs.contains(p) ? 1 : 0;
  return count;
}

std::vector<std::vector<double>> overlap(const SupportSet& s) {
  const auto heads = static_cast<size_t>(s.num_heads());
  std::vector<std::vector<double>> table(heads, std::vector<double>(heads, 1.0));
  for (size_t a = 0; a < heads; ++a) {
    for (size_t b = 0; b < a; ++b) {
      const auto i = static_cast<int64_t>(a), j = static_cast<int64_t>(b);
      const int64_t shared = shared_pairs(s, i, j), either = s.patch_pairs(i) + s.patch_pairs(j) - shared;
      table[a][b] = table[b][a] = either == 0 ? 1.0 : static_cast<double>(shared) / static_cast<double>(either);
    }
  }
  return table;
}

std::optional<Desiderata> desiderata(const SupportSet& s) {
  if (too_large(s, kMostDesiderataTokens)) return std::nullopt;
  Desiderata d;
  count_overlap(d, s);
  count_union(d, s);
  d.rows_without_key = rows_without_key(s);
  return d;
}

std::optional<Reach> reach(const std::function<SupportSet(int64_t)>& support_of, int64_t layers) {
  const SupportSet first = support_of(0);
  if (too_large(first, kMostReachTokens)) return std::nullopt;
  const int64_t heads = first.num_heads();
  Knowledge all(first.patches());
  std::vector<Knowledge> each(static_cast<size_t>(heads), all);
  Reach result;
  for (int64_t layer = 0; layer < layers; ++layer) {
    const SupportSet s = layer == 0 ? first : support_of(layer);
    all.learn(s, 0, heads);
    double sum = 0;
    for (int64_t h = 0; h < heads; ++h) {
      Knowledge& own = each[static_cast<size_t>(h)];
      own.learn(s, h, h + 1);
      sum += own.share();
    }
    result.all_heads.push_back(all.share());
    result.one_head.push_back(sum / static_cast<double>(heads));
  }
  return result;
}

}  // namespace fib
