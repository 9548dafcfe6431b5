// SPDX-License-Identifier: Apache-2.0
// What the passes over a tile share: the walk, the rows it reads, bias and dropout. Included once per target.
#if defined(FIB_KERNELS_TILE_COMMON_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_KERNELS_TILE_COMMON_INL_H_
#undef FIB_KERNELS_TILE_COMMON_INL_H_
#else
#define FIB_KERNELS_TILE_COMMON_INL_H_
#endif

#include <type_traits>

#include "base/processor.h"
#include "kernels/simd/accumulate-inl.h"
#include "kernels/simd/dots-inl.h"
#include "kernels/simd/summaries-inl.h"
#include "kernels/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

template <class V>
HWY_INLINE auto head_rows(const V& view, TileIndex at) {
  return Rows<std::remove_pointer_t<decltype(view.data)>>{view.row(at.b, at.h, 0), view.token_stride};
}

/// Scratch of one value per pair of the panel.
template <class T>
HWY_INLINE T* strip_scratch(const Panel& p, Buffer<T>& buffer) {
  return buffer.ensure(p.vectors() * static_cast<size_t>(lanes<T>()));
}
template <class T>
HWY_INLINE T* loose_scratch(const Panel& p, Buffer<T>& buffer) {
  return buffer.ensure(static_cast<size_t>(p.loose() + lanes<T>()));
}

/// into = the sum over the lanes of a class token's panel.
template <class T>
void sum_class_rows(Workspace<T>& ws, Rows<const T> other, int64_t channels, const T* weights, const T* loose,
                    T* into) {
  T* lane_sums = ws.class_rows.ensure(static_cast<size_t>(lanes<T>() * channels));
  sum_panel(ws.panel, weights, loose, other, channels, Rows<T>{lane_sums, channels});
  for (int64_t c = 0; c < channels; ++c) into[c] = lane_sums[c];
  for (int64_t i = 1; i < lanes<T>(); ++i) {
    for (int64_t c = 0; c < channels; ++c) into[c] += lane_sums[i * channels + c];
  }
}

/// Values of pairs across an edge of the grid become `fill`.
template <class T>
HWY_INLINE void fill_masked(const Panel& p, T* strips, T fill) {
  const Tag<T> d;
  for (const Panel::Masked& m : p.masked) {
    T* at = strips + m.strip * hn::Lanes(d);
    const auto counts = hn::LoadMaskBits(d, reinterpret_cast<const uint8_t*>(&m.lanes));
    hn::Store(hn::IfThenElse(counts, hn::Load(d, at), hn::Set(d, fill)), d, at);
  }
}

enum class Runs { all, of_tokens };

/// Calls visit(query, query_step, key, key_step, values, count) for every strip, every summary (unless runs of tokens
/// alone are asked for) and every loose pair of a panel.
template <Runs runs = Runs::all, class T, class Visit>
HWY_INLINE void for_each_run(const Panel& p, bool self_is_query, T* strips, T* loose, const Visit& visit) {
  const int64_t n = lanes<T>();
  for (const Strip& s : p.strips) {
    if (self_is_query) {
      visit(p.self, p.self_step, s.first, s.step, strips, n);
    } else {
      visit(s.first, s.step, p.self, p.self_step, strips, n);
    }
    strips += n;
  }
  for (int64_t i = 0; runs == Runs::all && i < p.summaries; ++i, strips += n)
    visit(p.self, int64_t{1}, p.first_summary + i, int64_t{0}, strips, n);
  for (int64_t t = 0; t < p.loose(); ++t) {
    const int64_t self = p.self + p.lane[static_cast<size_t>(t)] * p.self_step, other = p.token[static_cast<size_t>(t)];
    visit(self_is_query ? self : other, int64_t{0}, self_is_query ? other : self, int64_t{0}, loose + t, int64_t{1});
  }
}

/// Bias and dropout of one (sample, head).
template <class T>
struct PairTerms {
  bool self_is_query = true;
  const T* bias = nullptr;
  int64_t bias_query = 0, bias_key = 0;
  T* dbias = nullptr;
  int64_t dbias_query = 0, dbias_key = 0;
  bool drops = false;
  DropoutStream stream;
  uint32_t threshold = 0;
  T kept = 1;

  PairTerms(const AnyCall<T>& call, TileIndex at, bool self_is_query_) : self_is_query(self_is_query_) {
    const BiasView<const T>& view = call.options.bias;
    if (view.data != nullptr) {
      bias = view.data + (at.b % view.groups) * view.group_stride + at.h * view.head_stride;
      bias_query = view.query_stride, bias_key = view.key_stride;
    }
    const BiasView<T>& gradient = call.gradients.dbias;
    if (gradient.data != nullptr && self_is_query) {
      dbias = gradient.data + (at.b % gradient.groups) * gradient.group_stride + at.h * gradient.head_stride;
      dbias_query = gradient.query_stride, dbias_key = gradient.key_stride;
    }
    if (call.options.dropout > 0) {
      drops = true;
      stream = DropoutStream(call.options.dropout_seed, at.b, at.h);
      threshold = dropout_threshold(call.options.dropout);
      kept = static_cast<T>(1.0 / (1.0 - call.options.dropout));
    }
  }

  /// scores += bias.
  void add_bias(const Panel& p, T* strips, T* loose) const {
    if (bias == nullptr) return;
    for_each_run<Runs::of_tokens>(p, self_is_query, strips, loose,
                                  [&](int64_t q, int64_t q_step, int64_t k, int64_t k_step, T* values, int64_t n)
                                      HWY_ATTR {
                                        const T* from = bias + q * bias_query + k * bias_key;
                                        const int64_t step = q_step * bias_query + k_step * bias_key;
                                        for (int64_t i = 0; i < n; ++i) values[i] += from[i * step];
                                      });
  }

  /// dbias += gradients of the scores.
  void add_bias_gradient(const Panel& p, T* strips, T* loose) const {
    if (dbias == nullptr) return;
    for_each_run<Runs::of_tokens>(p, self_is_query, strips, loose,
                                  [&](int64_t q, int64_t q_step, int64_t k, int64_t k_step, const T* values, int64_t n)
                                      HWY_ATTR {
                                        T* to = dbias + q * dbias_query + k * dbias_key;
                                        const int64_t step = q_step * dbias_query + k_step * dbias_key;
                                        for (int64_t i = 0; i < n; ++i) to[i * step] += values[i];
                                      });
  }

  /// Zero for dropped pairs, 1 / (1 - probability) times the value for the others.
  void drop(const Panel& p, T* strips, T* loose) const {
    if (!drops) return;
    for_each_run(p, self_is_query, strips, loose,
                 [&](int64_t q, int64_t q_step, int64_t k, int64_t k_step, T* values, int64_t n) HWY_ATTR {
                   for (int64_t i = 0; i < n; ++i) {
                     values[i] = stream.bits(q + i * q_step, k + i * k_step) < threshold ? T(0) : values[i] * kept;
                   }
                 });
  }

  /// The same for values of summaries alone, [summaries, lanes].
  void drop_summaries(const Panel& p, T* values) const {
    for (int64_t s = 0; drops && s < p.summaries; ++s) {
      for (int64_t i = 0; i < lanes<T>(); ++i, ++values)
        *values = stream.bits(p.self + i, p.first_summary + s) < threshold ? T(0) : *values * kept;
    }
  }
};

/// The other rows of a tile, from the thread's own copy where that pays: copied as the blocks advance, so that the rows
/// a block is the first to reach were fetched during the one before.
template <class T>
class OtherRows {
 public:
  OtherRows(const SupportCall<T>& call, TileIndex at, RowCopy<T>& copy, const TokenView<const T>& view, int64_t tokens,
            int64_t channels, const Neighbourhood& n)
      : call_(call),
        at_(at),
        view_(view),
        rows_(head_rows(view, at)),
        copy_(RowCopy<T>::pays(rows_, tokens, channels) ? &copy : nullptr),
        tokens_(tokens),
        channels_(channels),
        cls_(n.cls),
        reach_(n.head->pairs.empty() ? n.head->reach() : tokens) {
    if (copy_ != nullptr) copy_->open(call.id, rows_, tokens, channels, cls_);
    if (copy_ == nullptr && !far_apart(rows_.stride, channels)) find_far_offsets(n);
  }

  /// All that self tokens [begin, end) meet, and these tokens themselves.
  Rows<const T> around(int64_t begin, int64_t end) const {
    if (copy_ == nullptr) return rows_;
    return copy_->require(HWY_MAX(cls_, begin - reach_), HWY_MIN(tokens_, end + reach_));
  }

  /// What the block after `end` will be the first to reach.
  void fetch_after(int64_t end, NextRows& next) const {
    next.add(view_, call_.shape, at_, end + reach_, lanes<T>(), tokens_, channels_);
    for (const int64_t offset : far_) {
      const int64_t first = HWY_MAX(end + offset, cls_), last = HWY_MIN(end + offset + lanes<T>(), tokens_);
      if (first < last) next.add_rows(rows_, first, last - first, channels_);
    }
  }

 private:
  /// A row is met by the largest offset first. Between two offsets everything moves on by their difference; what was
  /// touched half of L2 ago is gone, and reading it again waits for L3.
  void find_far_offsets(const Neighbourhood& n) {
    const std::vector<int64_t>& offsets = n.head->offsets;
    const auto count = static_cast<int64_t>(offsets.size());
    const int64_t streams = count * (n.below + n.above);
    const int64_t near = caches().second / 2 / HWY_MAX(1, streams * channels_ * 2 * static_cast<int64_t>(sizeof(T)));
    int64_t before = std::numeric_limits<int64_t>::max() / 2;
    const auto visit = [&](int64_t offset) {
      if (before - offset > near) far_.push_back(offset);
      before = offset;
    };
    for (int64_t i = count - 1; n.above && i >= 0; --i) visit(offsets[static_cast<size_t>(i)]);
    for (int64_t i = 0; n.below && i < count; ++i) visit(-offsets[static_cast<size_t>(i)]);
  }

  const SupportCall<T>& call_;
  TileIndex at_;
  const TokenView<const T>& view_;
  Rows<const T> rows_;
  RowCopy<T>* copy_;
  int64_t tokens_, channels_, cls_, reach_;
  std::vector<int64_t> far_;  ///< offsets whose rows have left the cache by the time they are met, explicit pairs aside
};

/// One tile of a pass: its own tokens block by block, then its chunk of the class tokens' partners. A pass is one of
/// forward, the gradients of queries, the gradients of keys; which side its tokens are on is all that the walk depends
/// on.
template <class T, class Pass>
void walk_tile(const SupportCall<T>& call, TileIndex at, Workspace<T>& ws) {
  constexpr bool kQueries = Pass::kSelfIsQuery;
  const AttentionShape& s = call.shape;
  const int64_t n = lanes<T>(), cls = call.support->cls();
  const int64_t query_end = call.query_end(at.b), key_end = call.key_end(at.b);
  const ClassChunks& chunks = kQueries ? call.query_chunks : call.key_chunks;
  const TileRange range = tile_range(chunks, cls, kQueries ? s.query_tokens : s.key_tokens, at.tile);
  const Neighbourhood others =
      kQueries ? keys_of_queries(*call.support, at.h, key_end) : queries_of_keys(*call.support, at.h, query_end);
  const int64_t other_tokens = kQueries ? s.key_tokens : s.query_tokens;
  Pass pass(call, at, ws);
  const OtherRows<T> scored(call, at, ws.copies[0], kQueries ? call.inputs.k : call.inputs.q, other_tokens, s.dim,
                            others);
  const OtherRows<T> summed(call, at, ws.copies[1], kQueries ? call.inputs.v : call.grad_out, other_tokens, s.value_dim,
                            others);
  const int64_t self_end = kQueries ? query_end : key_end, end = HWY_MIN(range.end, self_end);
  pass.begin_tile(range.begin, end);
  for (int64_t t = range.begin; t < end; t += n) {
    collect_block(others, t, HWY_MIN(n, end - t), n, ws.panel);
    ws.panel.first_summary = s.key_tokens;
    pass.fetch_next(t + n);
    scored.fetch_after(t + n, ws.panel.next);
    summed.fetch_after(t + n, ws.panel.next);
    pass.read(scored.around(t, t + n), summed.around(t, t + n));
    pass.block();
  }
  if (end < range.end) pass.clear(HWY_MAX(end, range.begin), range.end);
  if (range.chunk < 0) return;
  pass.read(scored.around(range.begin, range.chunk_end), summed.around(range.begin, range.chunk_end));
  const int64_t classes = HWY_MIN(cls, self_end);
  pass.begin_classes(range.chunk, classes);
  for (int64_t c = 0; c < classes; ++c) {
    const bool causal = call.support->causal();
    const int64_t first = !kQueries && causal ? c : 0, last = !kQueries ? query_end : causal ? c + 1 : key_end;
    collect_class_token(c, HWY_MAX(range.chunk_begin, first), HWY_MIN(range.chunk_end, last), n, ws.panel);
    pass.class_token(partial(call, chunks, at, c, range.chunk));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();
#endif
