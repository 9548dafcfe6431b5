// SPDX-License-Identifier: Apache-2.0
#include "fibottention/attention.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <type_traits>

#include "base/parallel.h"
#include "kernels/checks.h"
#include "kernels/class_tokens.h"
#include "kernels/dense_mask.h"
#include "kernels/kept_pairs.h"
#include "kernels/narrow.h"
#include "kernels/tiles.h"

namespace fib {
namespace {

using kernels::ClassChunks;
using kernels::Grouping;
using kernels::SupportCall;
using kernels::TileIndex;

template <class T>
SupportCall<T> make_call(const SupportSet& support, const AttentionShape& shape, const AttentionInputs<T>& inputs,
                         const AttentionOptions<T>& options) {
  static std::atomic<uint64_t> calls{0};
  SupportCall<T> call;
  call.id = ++calls;
  call.support = &support;
  call.set(shape, inputs, options);
  call.query_chunks = kernels::class_chunks(shape.query_tokens, support.cls());
  call.key_chunks = kernels::class_chunks(shape.key_tokens, support.cls());
  return call;
}

template <class T>
std::unique_ptr<T[]> scratch(int64_t count) {
  return std::make_unique_for_overwrite<T[]>(static_cast<size_t>(count));
}

/// Room for the partial results of all class tokens.
template <class T>
std::unique_ptr<T[]> make_partials(SupportCall<T>& call, const ClassChunks& chunks, int64_t size) {
  call.partial_size = size;
  auto memory = scratch<T>(call.shape.batch * call.shape.heads * call.support->cls() * chunks.chunks * size);
  call.partials = memory.get();
  return memory;
}

/// Counts, per (sample, head), the tiles that are still to come.
class TileCounter {
 public:
  TileCounter(int64_t heads, int64_t tiles)
      : open_(std::make_unique<std::atomic<int64_t>[]>(static_cast<size_t>(heads))) {
    for (int64_t i = 0; i < heads; ++i) open_[static_cast<size_t>(i)].store(tiles, std::memory_order_relaxed);
  }
  /// Whether a tile is the last of its head; all the others' results are then visible.
  bool last(int64_t head) { return open_[static_cast<size_t>(head)].fetch_sub(1, std::memory_order_acq_rel) == 1; }

 private:
  std::unique_ptr<std::atomic<int64_t>[]> open_;
};

/// Whether tiles leave something that is put together once all of a head's are done.
template <class T>
bool has_parts(const SupportCall<T>& call) {
  return call.support->cls() > 0 || call.summaries.count > 0;
}

template <class T>
kernels::Workspace<T>& workspace() {
  thread_local kernels::Workspace<T> kept;
  return kept;
}

/// All tiles of some heads: heads_of(group, body) calls body(b, h) for those of which a task computes the same tile.
template <class T, class HeadsOf>
void run_tiles(const SupportCall<T>& call, const ClassChunks& chunks, kernels::TileFunction<T> tile_function,
               void (*join)(const SupportCall<T>&, TileIndex), int64_t groups, const HeadsOf& heads_of) {
  const bool joins = has_parts(call);
  TileCounter counter(joins ? call.shape.batch * call.shape.heads : 0, chunks.tiles);
  parallel_tasks(groups * chunks.tiles, [&](int64_t task) {
    heads_of(task / chunks.tiles, [&](int64_t b, int64_t h) {
      const TileIndex at{b, h, task % chunks.tiles};
      tile_function(call, at, workspace<T>());
      if (joins && counter.last(call.head_index(b, h))) join(call, at);
    });
  });
}

/// Heads [begin, end) of all samples' heads, each for itself.
struct HeadRange {
  int64_t begin, end, heads;  ///< heads of a sample

  template <class Body>
  void operator()(int64_t group, const Body& body) const {
    body((begin + group) / heads, (begin + group) % heads);
  }
  int64_t count() const { return end - begin; }
};

HeadRange all_heads(const AttentionShape& shape) { return {0, shape.batch * shape.heads, shape.heads}; }

/// sum [B,H,e] over tokens of weight · row, weights [B,H,tokens] or all 1; in float64, because it stands for all keys.
template <class T>
std::unique_ptr<double[]> column_sums(const AttentionShape& shape, const TokenView<const T>& rows, int64_t tokens,
                                      const T* weights) {
  const int64_t e = shape.value_dim;
  auto sums = std::make_unique<double[]>(static_cast<size_t>(shape.batch * shape.heads * e));
  parallel_tasks(shape.batch * shape.heads, [&](int64_t head) {
    double* sum = sums.get() + head * e;
    for (int64_t t = 0; t < tokens; ++t) {
      const T* row = rows.row(head / shape.heads, head % shape.heads, t);
      const double weight = weights == nullptr ? 1.0 : static_cast<double>(weights[head * tokens + t]);
      for (int64_t c = 0; c < e; ++c) sum[c] += weight * static_cast<double>(row[c]);
    }
  });
  return sums;
}

/// The means of a call's keys and values, and whose tile is whose.
template <class T>
struct SummaryMemory {
  std::unique_ptr<T[]> keys, values, log_sizes, partials;
  std::unique_ptr<int32_t[]> tiles;

  /// Where the support has summaries: makes them.
  explicit SummaryMemory(SupportCall<T>& call) {
    if (!call.support->summaries()) return;
    const Tiling& tiling = *call.support->summaries();
    const AttentionShape& s = call.shape;
    const int64_t count = tiling.count(), heads = s.batch * s.heads, patches = call.support->patches();
    keys = scratch<T>(heads * count * s.dim), values = scratch<T>(heads * count * s.value_dim);
    log_sizes = scratch<T>(count), tiles = scratch<int32_t>(patches);
    for (int64_t i = 0; i < count; ++i)
      log_sizes[static_cast<size_t>(i)] = static_cast<T>(std::log(static_cast<double>(tiling.size(i))));
    for (int64_t p = 0; p < patches; ++p) tiles[static_cast<size_t>(p)] = static_cast<int32_t>(tiling.tile_of(p));
    call.summaries = {count, keys.get(), values.get(), log_sizes.get(), tiles.get()};
    const auto average = kernels::tiles_of_target<T>(kernels::chosen_target()).average_tiles;
    parallel_tasks(heads * tiling.tiles.height, [&](int64_t task) {
      const int64_t head = task / tiling.tiles.height;
      average(call, {head / s.heads, head % s.heads, task % tiling.tiles.height}, workspace<T>());
    });
  }

  /// Room for what the queries of all heads leave.
  void make_partials(SupportCall<T>& call) {
    partials = scratch<T>(kernels::summary_partials(call) * call.shape.batch * call.shape.heads);
    call.summaries.partials = partials.get();
  }
};

template <class T, class HeadsOf>
void query_gradients(SupportCall<T>& call, int64_t groups, const HeadsOf& heads_of) {
  const auto partials = make_partials(call, call.query_chunks, call.shape.dim);
  const auto tile_function = kernels::tiles_of_target<T>(kernels::chosen_target()).backward_queries;
  run_tiles(call, call.query_chunks, tile_function, kernels::join_query_gradients<T>, groups, heads_of);
}

template <class T>
void key_gradients(SupportCall<T>& call, const HeadRange& heads) {
  const auto partials = make_partials(call, call.key_chunks, call.shape.dim + call.shape.value_dim);
  const auto tile_function = kernels::tiles_of_target<T>(kernels::chosen_target()).backward_keys;
  run_tiles(call, call.key_chunks, tile_function, kernels::join_key_gradients<T>, heads.count(), heads);
}

/// Memory of kept pairs: fresh pages would cost more than what is written to them.
template <class T>
T* kept_memory(int64_t values) {
  thread_local kernels::Buffer<T> memory;
  return memory.ensure(static_cast<size_t>(values));
}

/// All tiles of one head, one after another.
template <class T>
void run_head(const SupportCall<T>& call, TileIndex at, const ClassChunks& chunks,
              kernels::TileFunction<T> tile_function, void (*join)(const SupportCall<T>&, TileIndex)) {
  for (at.tile = 0; at.tile < chunks.tiles; ++at.tile) tile_function(call, at, workspace<T>());
  join(call, at);
}

/// A task is a head, and what its queries read and keep is in the caches when its keys need it.
template <class T>
void backward_by_heads(const SupportCall<T>& call, int64_t values) {
  const auto& tiles = kernels::tiles_of_target<T>(kernels::chosen_target());
  SupportCall<T> for_queries = call, for_keys = call;
  const auto query_partials = make_partials(for_queries, call.query_chunks, call.shape.dim);
  const auto key_partials = make_partials(for_keys, call.key_chunks, call.shape.dim + call.shape.value_dim);
  parallel_tasks(call.shape.batch * call.shape.heads, [&](int64_t head) {
    const TileIndex at{head / call.shape.heads, head % call.shape.heads, 0};
    SupportCall<T> queries = for_queries, keys = for_keys;
    queries.kept.data = keys.kept.data = kept_memory<T>(values + kernels::summary_partials(call));
    queries.summaries.partials = keys.summaries.partials = queries.kept.data + values;
    queries.kept.first_head = keys.kept.first_head = head;
    queries.summaries.first_head = keys.summaries.first_head = head;
    run_head(queries, at, call.query_chunks, tiles.backward_queries, kernels::join_query_gradients<T>);
    run_head(keys, at, call.key_chunks, tiles.backward_keys, kernels::join_key_gradients<T>);
  });
}

/// Tasks are tiles, of so few heads at a time that their rows are still near when the keys need them.
template <class T>
void backward_by_tiles(SupportCall<T>& call, int64_t values, int64_t heads_at_once) {
  const int64_t all = call.shape.batch * call.shape.heads;
  call.kept.data = kept_memory<T>((values + kernels::summary_partials(call)) * heads_at_once);
  call.summaries.partials = call.kept.data + values * heads_at_once;
  for (int64_t head = 0; head < all; head += heads_at_once) {
    const HeadRange heads{head, std::min(head + heads_at_once, all), call.shape.heads};
    call.kept.first_head = call.summaries.first_head = head;
    query_gradients(call, heads.count(), heads);
    key_gradients(call, heads);
  }
}

template <class T>
void backward_with_kept_pairs(SupportCall<T>& call, const kernels::KeptPairsPlan& plan) {
  const int64_t values = 2 * plan.rows * call.shape.query_tokens;
  call.kept.rows = plan.rows;
  if (plan.by_heads) {
    backward_by_heads(call, values);
  } else {
    backward_by_tiles(call, values, plan.heads_at_once);
  }
}

}  // namespace

template <class T>
void attention_forward(const SupportSet& support, const AttentionShape& shape, const AttentionInputs<T>& inputs,
                       TokenView<T> out, T* lse, const AttentionOptions<T>& options) {
  kernels::check_forward(support, shape, inputs, out, options);
  if (kernels::dense_is_faster(support, shape, options)) {
    return dense_attention_forward(shape, inputs, out, lse, kernels::make_masked(support, options).options);
  }
  const auto& tiles = kernels::tiles_of_target<T>(kernels::chosen_target());
  SupportCall<T> call = make_call(support, shape, inputs, options);
  call.out = out;
  call.lse = lse;
  if constexpr (std::is_same_v<T, float>) {
    if (kernels::narrow_fits(support, shape, options, kernels::kNarrowForward)) return kernels::narrow_forward(call);
  }
  const auto partials = make_partials(call, call.query_chunks, shape.value_dim + 2);
  const SummaryMemory<T> summaries(call);
  std::unique_ptr<double[]> sums;
  if (options.masking == Masking::zero) sums = column_sums<T>(shape, inputs.v, shape.key_tokens, nullptr);
  call.column_sum = sums.get();
  const HeadRange heads = all_heads(shape);
  run_tiles(call, call.query_chunks, tiles.forward, kernels::join_forward<T>, heads.count(), heads);
}

template <class T>
void attention_backward(const SupportSet& support, const AttentionShape& shape, const AttentionInputs<T>& inputs,
                        TokenView<const T> out, const T* lse, TokenView<const T> grad_out,
                        const AttentionGradients<T>& gradients, const AttentionOptions<T>& options) {
  kernels::check_backward(support, shape, inputs, out, lse, grad_out, gradients, options);
  if (kernels::dense_is_faster(support, shape, options)) {
    return dense_attention_backward(shape, inputs, out, lse, grad_out, gradients,
                                    kernels::make_masked(support, options).options);
  }
  SupportCall<T> call = make_call(support, shape, inputs, options);
  call.set_backward(out, lse, grad_out, gradients);
  if constexpr (std::is_same_v<T, float>) {
    if (kernels::narrow_fits(support, shape, options, kernels::kNarrowBackward)) return kernels::narrow_backward(call);
  }
  const int64_t rows = shape.batch * shape.heads * shape.query_tokens;
  const bool zero = options.masking == Masking::zero;
  const auto delta = scratch<T>(rows), rest = scratch<T>(zero ? rows : 0);
  call.delta = delta.get();
  call.rest = zero ? rest.get() : nullptr;
  SummaryMemory<T> summaries(call);

  if (const kernels::KeptPairsPlan plan = kernels::plan_kept_pairs(call); plan.rows > 0) {
    return backward_with_kept_pairs(call, plan);
  }
  summaries.make_partials(call);
  const Grouping grouping = kernels::group_by_bias(shape, gradients.dbias);
  query_gradients(call, grouping.samples * grouping.heads,
                  [&](int64_t group, const auto& body) { grouping.for_each(shape, group, body); });
  std::unique_ptr<double[]> sums;
  if (zero) sums = column_sums<T>(shape, grad_out, shape.query_tokens, rest.get());
  call.column_sum = sums.get();
  key_gradients(call, all_heads(shape));
}

#define FIB_INSTANTIATE(T)                                                                                            \
  template void attention_forward<T>(const SupportSet&, const AttentionShape&, const AttentionInputs<T>&,             \
                                     TokenView<T>, T*, const AttentionOptions<T>&);                                   \
  template void attention_backward<T>(const SupportSet&, const AttentionShape&, const AttentionInputs<T>&,            \
                                      TokenView<const T>, const T*, TokenView<const T>, const AttentionGradients<T>&, \
                                      const AttentionOptions<T>&);
FIB_INSTANTIATE(float)
FIB_INSTANTIATE(double)
#undef FIB_INSTANTIATE

}  // namespace fib
