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

/// The other rows of a tile, from the thread's own copy where that pays: copied as the blocks advance, so that the rows
/// a block is the first to reach were fetched during the one before.
template <class T>
class OtherRows {
 public:
  OtherRows(const Call<T>& call, TileIndex at, RowCopy<T>& copy, const TokenView<const T>& view, int64_t tokens,
            int64_t channels, const Neighbourhood& n)
      : call_(call),
        at_(at),
        view_(view),
        rows_(head_rows(view, at)),
        copy_(RowCopy<T>::pays(rows_, tokens, channels) ? &copy : nullptr),
        tokens_(tokens),
        channels_(channels),
        cls_(n.cls),
        reach_(!n.head->pairs.empty()    ? tokens
               : n.head->offsets.empty() ? 0
                                         : n.head->offsets.back()) {
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
  /// Half of a core's L2: what was touched this many bytes ago is gone, and reading it again waits for L3.
  static constexpr int64_t kNear = int64_t{1} << 20;

  /// A row is met by the largest offset first. Between two offsets everything moves on by their difference.
  void find_far_offsets(const Neighbourhood& n) {
    const std::vector<int64_t>& offsets = n.head->offsets;
    const auto count = static_cast<int64_t>(offsets.size());
    const int64_t streams = count * (n.below + n.above);
    const int64_t near = kNear / HWY_MAX(1, streams * channels_ * 2 * static_cast<int64_t>(sizeof(T)));
    int64_t before = std::numeric_limits<int64_t>::max() / 2;
    const auto visit = [&](int64_t offset) {
      if (before - offset > near) far_.push_back(offset);
      before = offset;
    };
    for (int64_t i = count - 1; n.above && i >= 0; --i) visit(offsets[static_cast<size_t>(i)]);
    for (int64_t i = 0; n.below && i < count; ++i) visit(-offsets[static_cast<size_t>(i)]);
  }

  const Call<T>& call_;
  TileIndex at_;
  const TokenView<const T>& view_;
  Rows<const T> rows_;
  RowCopy<T>* copy_;
  int64_t tokens_, channels_, cls_, reach_;
  std::vector<int64_t> far_;  ///< offsets whose rows have left the cache by the time they are met, explicit pairs aside
};

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();
#endif
