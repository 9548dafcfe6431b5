// SPDX-License-Identifier: Apache-2.0
// What forward and backward tiles share. Included once per target.
#if defined(FIB_KERNELS_TILE_COMMON_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_KERNELS_TILE_COMMON_INL_H_
#undef FIB_KERNELS_TILE_COMMON_INL_H_
#else
#define FIB_KERNELS_TILE_COMMON_INL_H_
#endif

#include <type_traits>

#include "kernels/simd/accumulate-inl.h"
#include "kernels/simd/dots-inl.h"
#include "kernels/simd/pair_terms-inl.h"
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
  return buffer.ensure(p.strips.size() * static_cast<size_t>(lanes<T>()));
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

/// The other rows this tile reads, from the thread's own copy where that pays.
template <class T>
Rows<const T> other_rows(const Call<T>& call, RowCopy<T>& copy, Rows<const T> rows, int64_t channels,
                         const TileRange& range, const Neighbourhood& n, int64_t tokens) {
  if (!RowCopy<T>::pays(rows, tokens, channels)) return rows;
  const int64_t reach = n.head->offsets.empty() ? 0 : n.head->offsets.back();
  const bool all = !n.head->pairs.empty();
  copy.open(call.id, rows, tokens, channels, n.cls);
  return copy.require(all ? 0 : HWY_MAX(n.cls, range.begin - reach),
                      all ? tokens : HWY_MIN(tokens, HWY_MAX(range.end + reach, range.chunk_end)));
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();
#endif
