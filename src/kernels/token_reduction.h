// SPDX-License-Identifier: Apache-2.0
// Which tokens become which where a model goes on with fewer of them, for one sample: the part of token reduction that
// has no gradient. Indices are numbers of the type that is computed in, as graphs of a model hold no others; one that
// is outside of its range, as in a doctored file, counts as 0.
//
// Letters: T tokens now, class tokens first; S tokens at the beginning, cls + h·w; H heads, d channels.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "fibottention/attention.h"

namespace fib::kernels {

/// Keys [H,T,d] of one sample.
template <class T>
struct KeysOfSample {
  const T* data;
  int64_t heads, tokens, dim;
  int64_t head_stride, token_stride;
};

/// ToMe's bipartite matching. Every second token, the first of all included, is a source unless it is a class token;
/// its target is the most similar of the others, by the cosine of the keys' means over heads. The `merged` sources that
/// are most similar to their targets become part of them. plan[t] is the place of token t among the T - merged that are
/// left: first the other sources, in their order, then the targets. Of equal similarities the lower token wins.
template <class T>
void plan_merging(const KeysOfSample<T>& keys, int64_t merged, int64_t cls, std::span<T> plan);

/// EViT: class tokens and the `kept` patch tokens of largest score [T - cls] keep their order; all others become the
/// last token. Of equal scores the lower token wins.
template <class T>
void plan_keeping(std::span<const T> score, int64_t kept, int64_t cls, std::span<T> plan);

/// What can be told of the tokens from `owner` [S], the token that each of the first ones is part of now.
enum class TokenFact {
  sizes,          ///< [T] how many each is made of
  log_sizes,      ///< [T]
  slots,          ///< [T] of what it is made of, that which lies nearest to their center: no two have the same
  ranks,          ///< [T] its place in the order of slots
  order,          ///< [T] the token of each rank
  slot_bias,      ///< [S] 0 at slots, -inf elsewhere
  slot_log_sizes  ///< [S] log_sizes at slots, -inf elsewhere
};
inline constexpr std::string_view kTokenFactNames[] = {"sizes", "log_sizes", "slots",         "ranks",
                                                       "order", "slot_bias", "slot_log_sizes"};
inline constexpr int64_t kTokenFacts = 7;
/// Throws std::invalid_argument for an unknown name.
TokenFact token_fact(const std::string& name);
/// Whether it tells of the first tokens and not of those that are left.
inline bool is_of_slots(TokenFact fact) { return fact >= TokenFact::slot_bias; }

struct TokenLayout {
  int64_t tokens = 0;  ///< T
  int64_t cls = 1;
  int64_t height = 1, width = 1;  ///< of the patches at the beginning
};
template <class T>
void tell_tokens(TokenFact fact, const TokenLayout& layout, std::span<const T> owner, std::span<T> out);

/// Where an index that was computed points to.
template <class T>
int64_t place_of(T index, int64_t count) {
  return index >= 0 && index < static_cast<T>(count) ? static_cast<int64_t>(index) : 0;
}

// ---- What the targets see -------------------------------------------------------------------------------------------

struct SimilarityTable {
  /// out[j] = Σ_c a[c] · b[c · stride + j] for j < count; stride is a multiple of 16 and b is filled up to it.
  void (*products)(const float* a, int64_t channels, const float* b, int64_t stride, int64_t count, float* out);
};
const SimilarityTable& similarities_of_target(int64_t target);

}  // namespace fib::kernels
