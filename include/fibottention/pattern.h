// SPDX-License-Identifier: Apache-2.0
// Which query meets which key: the support sets Ω of sparse attention, as integers only.
//
// N patch tokens are preceded by `cls` class tokens, so T = cls + N. A token index counts from 0 over all T; an offset
// is a distance |j - k| between two patch tokens. Heads count from 0 here; the paper's row i is head i - 1.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fib {

/// The largest number of tokens a support set takes: token indices are stored in 32 bits.
inline constexpr int64_t kMaxTokens = INT64_C(2147483647);
/// What make_support takes: far beyond any model, and it keeps every count of pairs within 64 bits.
inline constexpr int64_t kMaxHeads = 65536;
inline constexpr int64_t kMaxClassTokens = 1024;

struct TokenPair {
  int32_t query;
  int32_t key;
  friend auto operator<=>(const TokenPair&, const TokenPair&) = default;
};

/// Explicit (query, key) pairs of one head as compressed rows, in both directions: attention gathers keys for a query,
/// its backward gathers queries for a key. Sorted, without repeats. Memory is O(pairs + tokens), nothing when empty.
class PairList {
 public:
  PairList() = default;
  PairList(int64_t query_tokens, int64_t key_tokens, std::vector<TokenPair> pairs);

  bool empty() const { return keys_.empty(); }
  int64_t size() const { return static_cast<int64_t>(keys_.size()); }
  std::span<const int32_t> keys_of(int64_t query) const { return row(key_begin_, keys_, query); }
  std::span<const int32_t> queries_of(int64_t key) const { return row(query_begin_, queries_, key); }
  bool contains(TokenPair pair) const;
  std::vector<TokenPair> to_vector() const;
  int64_t memory_bytes() const;

 private:
  static std::span<const int32_t> row(const std::vector<int64_t>& begin, const std::vector<int32_t>& values,
                                      int64_t i) {
    if (values.empty()) return {};
    return {values.data() + begin[i], static_cast<size_t>(begin[i + 1] - begin[i])};
  }
  std::vector<int64_t> key_begin_, query_begin_;
  std::vector<int32_t> keys_, queries_;
};

/// How the patch tokens lie in space: rows of columns, and in each place the frames of a clip, which come fastest.
struct PatchGrid {
  int64_t height = 1;
  int64_t width = 1;
  int64_t frames = 1;

  int64_t tokens() const { return height * width * frames; }
  friend bool operator==(const PatchGrid&, const PatchGrid&) = default;
};

/// Integers whose remainder lies in a range: begin <= i mod period < end.
struct PeriodicRange {
  int64_t period = 1, begin = 0, end = 1;

  bool everything() const { return begin == 0 && end == period; }
  bool contains(int64_t i) const { return begin <= i % period && i % period < end; }
  friend bool operator==(const PeriodicRange&, const PeriodicRange&) = default;
};

/// A step on the grid, as a distance in the order of tokens: patches p and p + offset are neighbors where both ranges
/// hold p; elsewhere the step would cross an edge. Two steps may have one distance on a narrow grid, never a pair in
/// common.
struct GridOffset {
  int64_t offset = 1;
  PeriodicRange columns, frames;

  bool contains(int64_t lower_patch) const { return columns.contains(lower_patch) && frames.contains(lower_patch); }
  friend bool operator==(const GridOffset&, const GridOffset&) = default;
};

/// The steps from a patch to those around it, `size` (odd) along each side of the grid, one of each pair of opposite
/// ones; the patch itself is none.
std::vector<GridOffset> grid_neighbors(const PatchGrid& grid, int64_t size);

/// The grid cut into tiles, along each side as even as can be: tile i of n begins at ⌊i · side / n⌋.
struct Tiling {
  PatchGrid grid;
  PatchGrid tiles;  ///< how many along each side, at least 1 and at most the side

  int64_t count() const { return tiles.tokens(); }
  int64_t tile_of(int64_t patch) const;
  /// Patches of a tile.
  int64_t size(int64_t tile) const;
  friend bool operator==(const Tiling&, const Tiling&) = default;
};

/// What one head may look at, before class tokens and causality are applied.
struct HeadPattern {
  int64_t window = 0;            ///< w_i of the paper, for display; the offsets already respect it
  std::vector<int64_t> offsets;  ///< ascending distances in [1, N), each used in both directions
  bool diagonal = false;         ///< whether a patch token sees itself
  std::vector<TokenPair> pairs;  ///< further pairs of token indices; those already covered are dropped
  std::vector<GridOffset> neighbors =
      {};  ///< further distances, each in both directions; dropped where it is an offset
};

/// The support set of one attention layer: the currency that leaves src/patterns.
class SupportSet {
 public:
  struct Head {
    int64_t window = 0;
    std::vector<int64_t> offsets;
    bool diagonal = false;
    std::vector<GridOffset> neighbors;  ///< disjoint from the offsets
    PairList pairs;  ///< disjoint from class tokens, offsets, diagonal and neighbors; already causal when the set is

    /// The largest distance of two patch tokens that offsets or neighbors give.
    int64_t reach() const;
  };

  /// Square attention over cls + patches tokens. With summaries every patch token also sees, of each tile, the mean of
  /// its keys and values, with the score scale · q·k̄ + log(patches of the tile); class tokens do not, and the set may
  /// not be causal. Throws std::invalid_argument naming the offending value.
  SupportSet(int64_t patches, int64_t cls, std::vector<HeadPattern> heads, bool causal = false,
             std::optional<Tiling> summaries = std::nullopt);

  /// Attention between two token sets of different size: explicit pairs only, no class tokens, not causal.
  static SupportSet rectangular(int64_t query_tokens, int64_t key_tokens, std::vector<std::vector<TokenPair>> heads);

  int64_t patches() const { return patches_; }
  int64_t cls() const { return cls_; }
  bool causal() const { return causal_; }
  int64_t query_tokens() const { return query_tokens_; }
  int64_t key_tokens() const { return key_tokens_; }
  int64_t num_heads() const { return static_cast<int64_t>(heads_.size()); }
  const Head& head(int64_t h) const { return heads_.at(static_cast<size_t>(h)); }
  const std::optional<Tiling>& summaries() const { return summaries_; }

  /// Pairs of patch tokens, |Ω_h|: what the paper counts; a patch token and a summary are a pair, too.
  int64_t patch_pairs(int64_t head) const;
  int64_t patch_pairs() const;
  /// Those of them that neighbors alone give, and those with summaries.
  int64_t neighbor_pairs(int64_t head) const;
  int64_t summary_pairs() const { return summaries_ ? patches_ * summaries_->count() : 0; }  ///< of each head
  /// Pairs over all tokens, class rows and columns included: what is computed.
  int64_t pairs(int64_t head) const;
  int64_t pairs() const;

  /// 1 - |Ω| / (h N²), over patch tokens (the paper's 98.01 %).
  double pruning_ratio() const;
  /// The same over all tokens: 1 - pairs / (h T_query T_key).
  double pruning_ratio_with_cls() const;

  /// Of two tokens.
  bool contains(int64_t head, TokenPair pair) const;
  /// The tokens that are keys of one query, ascending.
  std::vector<int64_t> keys_of_row(int64_t head, int64_t query) const;
  /// Queries without any key, ascending. Attention gives zeros there.
  std::vector<int64_t> empty_rows(int64_t head) const;

  int64_t memory_bytes() const;

  /// The support of head permutation[h] in place of head h; throws unless it is a permutation of 0 … heads-1.
  SupportSet permuted(const std::vector<int64_t>& permutation) const;

 private:
  SupportSet() = default;
  int64_t patches_ = 0, cls_ = 0, query_tokens_ = 0, key_tokens_ = 0;
  bool causal_ = false;
  std::vector<Head> heads_;
  std::optional<Tiling> summaries_;
};

// ---- The Wythoff array, in exact integer arithmetic -----------------------------------------------------------------

/// Rows above this are refused: 5 m² must fit 64 bits.
inline constexpr int64_t kMaxWythoffRow = INT64_C(1000000000);

/// ⌊xφ⌋ for 0 <= x <= ⌊kMaxWythoffRow φ⌋.
int64_t floor_times_phi(int64_t x);

/// The first two elements of a generalized Fibonacci sequence Fib(a, b).
struct SequenceStart {
  int64_t a;
  int64_t b;
  friend bool operator==(const SequenceStart&, const SequenceStart&) = default;
};

/// Row i >= 1 of the Wythoff array: m = ⌊iφ⌋, a = ⌊mφ⌋, b = a + m.
SequenceStart wythoff_row(int64_t i);
/// The same row begun two elements earlier: (2a - b, b - a) = (i - 1, ⌊iφ⌋).
SequenceStart modified_wythoff_row(int64_t i);

/// The positive elements of Fib(a, b) up to `limit`, ascending, without repeats.
std::vector<int64_t> fibonacci_elements(SequenceStart start, int64_t limit);

/// w_i = wmin + ⌊(wmax - wmin)(i - 1)/(h - 1)⌋ for head i in 1 … h; a single head uses wmax.
int64_t head_window(int64_t i, int64_t heads, int64_t wmin, int64_t wmax);

/// Element h is the row (from 0) that head h of this layer uses: what Python's random.seed(layer); random.shuffle(rows)
/// gives, as the published code does it.
std::vector<int64_t> published_permutation(int64_t heads, int64_t layer);

/// Lemma 2: an upper bound of |Ω_w^Fib(a,b)| over N tokens; holds where a < b <= w.
double lemma2_bound(SequenceStart start, int64_t window, int64_t tokens);
/// Theorem 1 in pairs, its first bound: 2 N h (2.08 ln((√5 + 1) wmax) - 1); holds where b_i <= w_i for every head.
double theorem1_bound(int64_t tokens, int64_t heads, int64_t wmax);
/// Its second, with wmax replaced by N: 4.16 N h ln(3.3 N).
double theorem1_bound_for_any_window(int64_t tokens, int64_t heads);
/// The same for the modified array, which the paper leaves to the reader: 2 N h (2.08 ln(√5 wmax + φ) + 1), from Lemma
/// 2 with a = i - 1 and b = ⌊iφ⌋; holds where ⌊iφ⌋ <= w_i for every head.
double modified_theorem1_bound(int64_t tokens, int64_t heads, int64_t wmax);

// ---- Mechanisms by name ---------------------------------------------------------------------------------------------

/// An attention as written on a command line: NAME or NAME:key=value,key=value.
struct AttentionSpec {
  std::string name;
  std::vector<std::pair<std::string, std::string>> options;

  /// Throws std::invalid_argument for an empty name, a malformed pair or a key given twice.
  static AttentionSpec parse(const std::string& text);
  std::string to_string() const;
};

/// What a support set is made for.
struct PatternGeometry {
  int64_t patches = 196;
  int64_t cls = 1;
  int64_t heads = 12;
  /// Selects the head permutation and the random draw; none is identity and draw 0.
  std::optional<int64_t> layer = std::nullopt;
  bool causal = false;
  /// How the patches lie; none: as a square, where that is asked for.
  std::optional<PatchGrid> grid = std::nullopt;
};

struct PatternOption {
  std::string key;
  std::string default_text;  ///< as shown to a person, e.g. "N/3"
  std::string help;
  std::vector<std::string> words = {};  ///< that it takes; none: a number
  bool sets_pairs = false;              ///< the one to change where a mechanism is to have more or fewer pairs
};

struct PatternInfo {
  std::string name;
  std::string summary;
  std::vector<PatternOption> options;
};

/// Every support set known by name, in the order they are listed to people.
const std::vector<PatternInfo>& pattern_registry();

/// Makes the support set of a registered mechanism. A head whose first offset does not fit N tokens sees no patch at
/// all, and one whose only offset exceeds N/2 leaves the rows in the middle without keys: empty_rows lists them. Throws
/// std::invalid_argument with one line that names the value received and what is accepted (for an unknown name: the
/// nearest known one and the list).
SupportSet make_support(const AttentionSpec& spec, const PatternGeometry& geometry);

}  // namespace fib
