// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>
#include <string>

#include "fibottention/pattern.h"

namespace fib {
namespace {

/// begin[i] … begin[i + 1] delimits row i in pairs sorted by that row.
template <class RowOf>
std::vector<int64_t> row_begins(const std::vector<TokenPair>& pairs, int64_t rows, RowOf row_of) {
  std::vector<int64_t> begin(static_cast<size_t>(rows) + 1, 0);
  for (const TokenPair& p : pairs) ++begin[static_cast<size_t>(row_of(p)) + 1];
  for (size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
  return begin;
}

void check_range(const TokenPair& p, int64_t query_tokens, int64_t key_tokens) {
  if (p.query >= 0 && p.query < query_tokens && p.key >= 0 && p.key < key_tokens) return;
  throw std::invalid_argument("pair (" + std::to_string(p.query) + ", " + std::to_string(p.key) + ") is outside " +
                              std::to_string(query_tokens) + " queries x " + std::to_string(key_tokens) + " keys");
}

}  // namespace

PairList::PairList(int64_t query_tokens, int64_t key_tokens, std::vector<TokenPair> pairs) {
  if (pairs.empty()) return;
  for (const TokenPair& p : pairs) check_range(p, query_tokens, key_tokens);
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  key_begin_ = row_begins(pairs, query_tokens, [](const TokenPair& p) { return p.query; });
  query_begin_ = row_begins(pairs, key_tokens, [](const TokenPair& p) { return p.key; });
  keys_.reserve(pairs.size());
  queries_.resize(pairs.size());
  std::vector<int64_t> next(query_begin_.begin(), query_begin_.end() - 1);
  for (const TokenPair& p : pairs) {
    keys_.push_back(p.key);
    queries_[static_cast<size_t>(next[static_cast<size_t>(p.key)]++)] = p.query;
  }
}

bool PairList::contains(TokenPair pair) const {
  const auto keys = keys_of(pair.query);
  return std::binary_search(keys.begin(), keys.end(), pair.key);
}

std::vector<TokenPair> PairList::to_vector() const {
  std::vector<TokenPair> pairs;
  pairs.reserve(keys_.size());
  for (int64_t q = 0; q + 1 < static_cast<int64_t>(key_begin_.size()); ++q) {
    for (int32_t k : keys_of(q)) pairs.push_back({static_cast<int32_t>(q), k});
  }
  return pairs;
}

int64_t PairList::memory_bytes() const {
  return static_cast<int64_t>((key_begin_.capacity() + query_begin_.capacity()) * sizeof(int64_t) +
                              (keys_.capacity() + queries_.capacity()) * sizeof(int32_t));
}

namespace {

void require(bool ok, const std::string& message) {
  if (!ok) throw std::invalid_argument(message);
}

void check_tokens(int64_t tokens, const char* what) {
  require(tokens >= 1 && tokens <= kMaxTokens,
          std::string(what) + " must be 1 to " + std::to_string(kMaxTokens) + ", got " + std::to_string(tokens));
}

/// Messages are composed for bad offsets only: a dense head has millions of good ones.
void check_offsets(const std::vector<int64_t>& offsets, int64_t patches) {
  int64_t previous = 0;
  for (int64_t o : offsets) {
    if (o <= previous) {
      throw std::invalid_argument("offsets must be positive and ascending, got " + std::to_string(o) + " after " +
                                  std::to_string(previous));
    }
    previous = o;
  }
  if (previous < patches) return;
  throw std::invalid_argument("offset " + std::to_string(previous) + " does not fit " + std::to_string(patches) +
                              " tokens");
}

bool has_offset(const std::vector<int64_t>& offsets, int64_t distance) {
  return std::binary_search(offsets.begin(), offsets.end(), distance);
}

int64_t distance(TokenPair p) { return p.query < p.key ? p.key - p.query : p.query - p.key; }

/// Whether one of them, which are in the order of their offsets, gives this pair of patch tokens.
bool are_neighbors(const std::vector<GridOffset>& neighbors, int64_t cls, TokenPair p) {
  const int64_t lower = std::min(p.query, p.key) - cls, apart = distance(p);
  const auto before = [](const GridOffset& step, int64_t offset) { return step.offset < offset; };
  auto neighbor = std::lower_bound(neighbors.begin(), neighbors.end(), apart, before);
  for (; neighbor != neighbors.end() && neighbor->offset == apart; ++neighbor)
    if (neighbor->contains(lower)) return true;
  return false;
}

/// Whether class tokens, offsets, diagonal or neighbors already give this pair, causality aside.
bool is_structural(const HeadPattern& head, int64_t cls, TokenPair p) {
  if (p.query < cls || p.key < cls) return true;
  if (p.query == p.key) return head.diagonal;
  return has_offset(head.offsets, distance(p)) || are_neighbors(head.neighbors, cls, p);
}

bool is_sound(const PeriodicRange& r) { return 0 <= r.begin && r.begin < r.end && r.end <= r.period; }

/// Where both ranges exclude something, places that differ by a period of the columns have the same frame.
bool is_sound(const GridOffset& g) {
  const bool one_range = g.columns.everything() || g.frames.everything();
  return is_sound(g.columns) && is_sound(g.frames) && (one_range || g.columns.period % g.frames.period == 0);
}

/// Those that no offset has, ascending.
std::vector<GridOffset> new_neighbors(HeadPattern& head, int64_t patches) {
  for (const GridOffset& g : head.neighbors) {
    if (g.offset < 1 || g.offset >= patches || !is_sound(g))
      throw std::invalid_argument("neighbors " + std::to_string(g.offset) + " apart do not fit " +
                                  std::to_string(patches) + " tokens");
  }
  std::erase_if(head.neighbors, [&](const GridOffset& g) { return has_offset(head.offsets, g.offset); });
  std::stable_sort(head.neighbors.begin(), head.neighbors.end(),
                   [](const GridOffset& a, const GridOffset& b) { return a.offset < b.offset; });
  return head.neighbors;
}

/// i < count that are in the range.
int64_t count_in(const PeriodicRange& r, int64_t count) {
  const auto below = [&](int64_t end) { return count / r.period * end + std::min(count % r.period, end); };
  return below(r.end) - below(r.begin);
}

/// How many patches have a neighbor above them at this offset.
int64_t count_pairs(const GridOffset& g, int64_t patches) {
  const int64_t count = patches - g.offset;
  if (g.columns.everything()) return count_in(g.frames, count);
  // Of both in the first `end` places of a period of the columns.
  const auto both = [&](int64_t end) {
    return count_in(g.frames, std::min(end, g.columns.end)) - count_in(g.frames, std::min(end, g.columns.begin));
  };
  return count / g.columns.period * both(g.columns.period) + both(count % g.columns.period);
}

void check_tiling(const Tiling& t, int64_t patches, bool causal) {
  const auto fits = [](int64_t tiles, int64_t side) { return tiles >= 1 && tiles <= side; };
  if (t.grid.tokens() != patches || !fits(t.tiles.height, t.grid.height) || !fits(t.tiles.width, t.grid.width) ||
      !fits(t.tiles.frames, t.grid.frames)) {
    throw std::invalid_argument("summaries of " + std::to_string(t.tiles.height) + " x " +
                                std::to_string(t.tiles.width) + " tiles do not fit a grid of " +
                                std::to_string(t.grid.height) + " x " + std::to_string(t.grid.width) + " for " +
                                std::to_string(patches) + " tokens");
  }
  require(!causal, "summaries are refused together with a causal support: a tile's mean holds tokens to come");
}

std::vector<TokenPair> extra_pairs(HeadPattern& head, int64_t cls, bool causal) {
  std::erase_if(head.pairs, [&](TokenPair p) { return (causal && p.key > p.query) || is_structural(head, cls, p); });
  return std::move(head.pairs);
}

}  // namespace

int64_t SupportSet::Head::reach() const {
  const int64_t by_offsets = offsets.empty() ? 0 : offsets.back();
  return std::max(by_offsets, neighbors.empty() ? 0 : neighbors.back().offset);
}

SupportSet::SupportSet(int64_t patches, int64_t cls, std::vector<HeadPattern> heads, bool causal,
                       std::optional<Tiling> summaries)
    : patches_(patches),
      cls_(cls),
      query_tokens_(cls + patches),
      key_tokens_(cls + patches),
      causal_(causal),
      summaries_(summaries) {
  check_tokens(patches, "tokens");
  require(cls >= 0 && cls <= kMaxTokens - patches, "cls must be 0 or more, got " + std::to_string(cls));
  require(!heads.empty(), "heads must be 1 or more, got 0");
  heads_.reserve(heads.size());
  for (HeadPattern& h : heads) {
    check_offsets(h.offsets, patches);
    std::vector<GridOffset> neighbors = new_neighbors(h, patches);
    PairList pairs(query_tokens_, key_tokens_, extra_pairs(h, cls, causal));
    heads_.push_back({h.window, std::move(h.offsets), h.diagonal, std::move(neighbors), std::move(pairs)});
  }
  if (summaries_) check_tiling(*summaries_, patches, causal);
}

SupportSet SupportSet::rectangular(int64_t query_tokens, int64_t key_tokens,
                                   std::vector<std::vector<TokenPair>> heads) {
  check_tokens(query_tokens, "query tokens");
  check_tokens(key_tokens, "key tokens");
  require(!heads.empty(), "heads must be 1 or more, got 0");
  SupportSet set;
  set.query_tokens_ = query_tokens;
  set.key_tokens_ = key_tokens;
  set.patches_ = std::max(query_tokens, key_tokens);
  for (auto& pairs : heads)
    set.heads_.push_back({0, {}, false, {}, PairList(query_tokens, key_tokens, std::move(pairs))});
  return set;
}

int64_t SupportSet::patch_pairs(int64_t h) const {
  const Head& head = this->head(h);
  int64_t count = head.pairs.size() + (head.diagonal ? patches_ : 0) + neighbor_pairs(h) + summary_pairs();
  for (int64_t o : head.offsets) count += (causal_ ? 1 : 2) * (patches_ - o);
  return count;
}

int64_t SupportSet::neighbor_pairs(int64_t h) const {
  int64_t count = 0;
  for (const GridOffset& g : head(h).neighbors) count += (causal_ ? 1 : 2) * count_pairs(g, patches_);
  return count;
}

int64_t SupportSet::patch_pairs() const {
  int64_t count = 0;
  for (int64_t h = 0; h < num_heads(); ++h) count += patch_pairs(h);
  return count;
}

int64_t SupportSet::pairs(int64_t h) const {
  const int64_t cls_block = causal_ ? cls_ * (cls_ + 1) / 2 : cls_ * cls_;
  const int64_t cls_edges = (causal_ ? 1 : 2) * cls_ * patches_;
  return patch_pairs(h) + cls_block + cls_edges;
}

int64_t SupportSet::pairs() const {
  int64_t count = 0;
  for (int64_t h = 0; h < num_heads(); ++h) count += pairs(h);
  return count;
}

double SupportSet::pruning_ratio() const {
  const double q = static_cast<double>(query_tokens_ - cls_), k = static_cast<double>(key_tokens_ - cls_);
  return 1.0 - static_cast<double>(patch_pairs()) / (static_cast<double>(num_heads()) * q * k);
}

double SupportSet::pruning_ratio_with_cls() const {
  const double q = static_cast<double>(query_tokens_), k = static_cast<double>(key_tokens_);
  return 1.0 - static_cast<double>(pairs()) / (static_cast<double>(num_heads()) * q * k);
}

bool SupportSet::contains(int64_t h, TokenPair p) const {
  const Head& head = this->head(h);
  if (p.query < 0 || p.query >= query_tokens_ || p.key < 0 || p.key >= key_tokens_) return false;
  if (causal_ && p.key > p.query) return false;
  if (p.query < cls_ || p.key < cls_) return true;
  if (head.pairs.contains(p)) return true;
  if (p.query == p.key) return head.diagonal;
  return has_offset(head.offsets, distance(p)) || are_neighbors(head.neighbors, cls_, p);
}

std::vector<int64_t> SupportSet::keys_of_row(int64_t h, int64_t query) const {
  require(query >= 0 && query < query_tokens_,
          "row " + std::to_string(query) + " is outside 0 to " + std::to_string(query_tokens_ - 1));
  const Head& head = this->head(h);
  const int64_t end = causal_ ? query + 1 : key_tokens_;
  std::vector<int64_t> keys;
  for (int64_t k = 0; k < (query < cls_ ? end : cls_); ++k) keys.push_back(k);
  if (query < cls_) return keys;
  for (int64_t o : head.offsets) {
    if (query - o >= cls_) keys.push_back(query - o);
    if (query + o < end) keys.push_back(query + o);
  }
  for (const GridOffset& g : head.neighbors) {
    if (query - g.offset >= cls_ && g.contains(query - g.offset - cls_)) keys.push_back(query - g.offset);
    if (query + g.offset < end && g.contains(query - cls_)) keys.push_back(query + g.offset);
  }
  if (head.diagonal) keys.push_back(query);
  for (int32_t k : head.pairs.keys_of(query)) keys.push_back(k);
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::vector<int64_t> SupportSet::empty_rows(int64_t h) const {
  const Head& head = this->head(h);
  std::vector<int64_t> rows;
  if (cls_ > 0 || head.diagonal || summaries_) return rows;
  // The smallest offset decides: a row without it has none.
  const int64_t nearest = head.offsets.empty() ? patches_ : head.offsets.front();
  for (int64_t q = 0; q < query_tokens_; ++q) {
    const bool below = q >= nearest, above = !causal_ && q + nearest < query_tokens_;
    if (below || above || !head.pairs.keys_of(q).empty()) continue;
    if (head.neighbors.empty() || keys_of_row(h, q).empty()) rows.push_back(q);
  }
  return rows;
}

int64_t SupportSet::memory_bytes() const {
  int64_t bytes = static_cast<int64_t>(sizeof(*this) + heads_.capacity() * sizeof(Head));
  for (const Head& h : heads_) {
    bytes += static_cast<int64_t>(h.offsets.capacity() * sizeof(int64_t)) + h.pairs.memory_bytes() +
             static_cast<int64_t>(h.neighbors.capacity() * sizeof(GridOffset));
  }
  return bytes;
}

SupportSet SupportSet::permuted(const std::vector<int64_t>& permutation) const {
  std::vector<int64_t> sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  bool valid = static_cast<int64_t>(sorted.size()) == num_heads();
  for (size_t i = 0; valid && i < sorted.size(); ++i) valid = sorted[i] == static_cast<int64_t>(i);
  require(valid, "not a permutation of " + std::to_string(num_heads()) + " heads");
  SupportSet result = *this;
  for (size_t h = 0; h < permutation.size(); ++h) result.heads_[h] = heads_[static_cast<size_t>(permutation[h])];
  return result;
}

}  // namespace fib
