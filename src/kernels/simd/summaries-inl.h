// SPDX-License-Identifier: Apache-2.0
// Summaries of a block: means of rows over tiles, and the small products of all rows with all summaries. Included once
// per target.
#if defined(FIB_KERNELS_SUMMARIES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_KERNELS_SUMMARIES_INL_H_
#undef FIB_KERNELS_SUMMARIES_INL_H_
#else
#define FIB_KERNELS_SUMMARIES_INL_H_
#endif

#include <algorithm>

#include "kernels/simd/accumulate-inl.h"
#include "kernels/simd/dots-inl.h"
#include "kernels/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

/// into += the sum of `count` rows from `first` on.
template <class T>
void add_run(Rows<const T> rows, int64_t first, int64_t count, int64_t channels, T* into) {
  const Tag<T> d;
  const int64_t n = lanes<T>();
  for (int64_t c = 0; c < channels; c += n) {
    const int64_t part = HWY_MIN(n, channels - c);
    auto sum = hn::Zero(d);
    if (part == n) {
      for (int64_t t = 0; t < count; ++t) sum = hn::Add(sum, hn::LoadU(d, rows.row(first + t) + c));
      hn::StoreU(hn::Add(sum, hn::LoadU(d, into + c)), d, into + c);
    } else {
      for (int64_t t = 0; t < count; ++t) sum = hn::Add(sum, load_first(rows.row(first + t) + c, part));
      store_first(hn::Add(sum, load_first(into + c, part)), into + c, part);
    }
  }
}

/// Means over the tiles of one row of tiles, as rows [tiles of it, channels]; `rows` are those of the patches. Runs of
/// patches are summed by themselves, which keeps the rounding of large tiles small.
template <class T>
void average_row_of_tiles(const Tiling& tiling, int64_t tile_row, Rows<const T> rows, int64_t channels, T* means) {
  const PatchGrid &grid = tiling.grid, &tiles = tiling.tiles;
  const int64_t in_row = tiles.width * tiles.frames;
  std::fill_n(means, in_row * channels, T(0));
  const auto begin = [](int64_t i, int64_t n, int64_t side) { return i * side / n; };
  const auto add = [&](int64_t tile, int64_t first, int64_t count) {
    add_run(rows, first, count, channels, means + tile * channels);
  };
  const int64_t y_end = begin(tile_row + 1, tiles.height, grid.height);
  for (int64_t y = begin(tile_row, tiles.height, grid.height); y < y_end; ++y) {
    for (int64_t column = 0; column < tiles.width; ++column) {
      const int64_t x = begin(column, tiles.width, grid.width), x_end = begin(column + 1, tiles.width, grid.width);
      if (tiles.frames == 1) {
        add(column, (y * grid.width + x) * grid.frames, (x_end - x) * grid.frames);
        continue;
      }
      for (int64_t f = 0; f < tiles.frames; ++f) {
        const int64_t frame = begin(f, tiles.frames, grid.frames), next = begin(f + 1, tiles.frames, grid.frames);
        for (int64_t place = y * grid.width + x; place < y * grid.width + x_end; ++place)
          add(column * tiles.frames + f, place * grid.frames + frame, next - frame);
      }
    }
  }
  for (int64_t i = 0; i < in_row; ++i) {
    const T factor = T(1) / static_cast<T>(tiling.size(tile_row * in_row + i));
    for (int64_t c = 0; c < channels; ++c) means[i * channels + c] *= factor;
  }
}

/// Means of the keys and values of one head over one row of tiles; `at.tile` is its number.
template <class T>
void average_tiles(const SupportCall<T>& call, TileIndex at, Workspace<T>&) {
  const Tiling& tiling = *call.support->summaries();
  const int64_t cls = call.support->cls(), head = call.head_index(at.b, at.h);
  const int64_t first = head * call.summaries.count + at.tile * tiling.tiles.width * tiling.tiles.frames;
  const auto average = [&](const TokenView<const T>& view, int64_t channels, T* means) {
    average_row_of_tiles<T>(tiling, at.tile, {view.row(at.b, at.h, cls), view.token_stride}, channels,
                            means + first * channels);
  };
  average(call.inputs.k, call.shape.dim, call.summaries.keys);
  average(call.inputs.v, call.shape.value_dim, call.summaries.values);
}

/// Those of one head.
template <class T>
HWY_INLINE T* own_summaries(const SupportCall<T>& call, TileIndex at, T* means, int64_t channels) {
  return means + call.head_index(at.b, at.h) * call.summaries.count * channels;
}

/// out [summaries, lanes] = scale · self row · summary. Lanes beyond the block's rows repeat its last one.
template <int kVectors, class T>
void dot_summaries(const Panel& panel, Rows<const T> self, const T* summaries, int64_t channels, T scale, T* out) {
  const T* a = self.row(panel.self);
  const int64_t last = panel.rows - 1, step = self.stride;
  const auto self_row = [&](int64_t i) FIB_INLINE_LAMBDA { return a + HWY_MIN(i, last) * step; };
  int64_t s = 0;
  if constexpr (kStripsAtOnce == 4) {
    for (; s + 4 <= panel.summaries; s += 4) {
      const T* b = summaries + s * channels;
      const auto row = [&](int i) FIB_INLINE_LAMBDA {
        return Two<Two<Vec<T>>>{products<kVectors, T>(self_row(i), b, b + channels, channels),
                                products<kVectors, T>(self_row(i), b + 2 * channels, b + 3 * channels, channels)};
      };
      out = store_scaled(sum_rows<T>(row), scale, out);
    }
  }
  for (; s + 2 <= panel.summaries; s += 2) {
    const T* b = summaries + s * channels;
    const auto row = [&](int i)
                         FIB_INLINE_LAMBDA { return products<kVectors, T>(self_row(i), b, b + channels, channels); };
    out = store_scaled(sum_rows<T>(row), scale, out);
  }
  for (; s < panel.summaries; ++s) {
    const T* b = summaries + s * channels;
    const auto row = [&](int i) FIB_INLINE_LAMBDA { return products<kVectors, T>(self_row(i), b, channels); };
    out = store_scaled(sum_rows<T>(row), scale, out);
  }
}

template <class T>
void dot_summaries(const Panel& panel, Rows<const T> self, const T* summaries, int64_t channels, T scale, T* out) {
  switch (channels % lanes<T>() == 0 ? channels / lanes<T>() : 0) {
    case 1:
      return dot_summaries<1, T>(panel, self, summaries, channels, scale, out);
    case 2:
      return dot_summaries<2, T>(panel, self, summaries, channels, scale, out);
    case 4:
      return dot_summaries<4, T>(panel, self, summaries, channels, scale, out);
    case 8:
      return dot_summaries<8, T>(panel, self, summaries, channels, scale, out);
    default:
      return dot_summaries<0, T>(panel, self, summaries, channels, scale, out);
  }
}

/// Factors of a product: element (row, k) is at data[row · row_step + k · depth_step].
template <class T>
struct Factors {
  const T* data;
  int64_t row_step, depth_step, depth;
};

#define FIB_EACH_SUM(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
/// into rows [0, kRows) += Σ over k of factor (row, k) · from row k. The pointers stand at the first channel.
template <int kVectors, int kRows, bool kTail, class T>
void add_few_rows(const Factors<T>& f, Rows<const T> from, int64_t tail, Rows<T> into) {
  const Tag<T> d;
#define FIB_LOAD(k)          \
  auto sum##k = hn::Zero(d); \
  if constexpr (k < kRows * kVectors) sum##k = load_part<kVectors, kTail>(into.row(k / kVectors), k % kVectors, tail);
  FIB_EACH_SUM(FIB_LOAD)
#undef FIB_LOAD
  const T* HWY_RESTRICT w = f.data;
  const T* HWY_RESTRICT p = from.data;
  for (int64_t k = 0; k < f.depth; ++k, w += f.depth_step, p += from.stride) {
#define FIB_ADD(k)                                                                                                   \
  if constexpr (k < kRows * kVectors) {                                                                              \
    sum##k = hn::MulAdd(hn::Set(d, w[k / kVectors * f.row_step]), load_part<kVectors, kTail>(p, k % kVectors, tail), \
                        sum##k);                                                                                     \
  }
    FIB_EACH_SUM(FIB_ADD)
#undef FIB_ADD
  }
#define FIB_STORE(k) \
  if constexpr (k < kRows * kVectors) store_part<kVectors, kTail>(sum##k, into.row(k / kVectors), k % kVectors, tail);
  FIB_EACH_SUM(FIB_STORE)
#undef FIB_STORE
}
#undef FIB_EACH_SUM

template <int kVectors, bool kTail, class T>
void add_rows(Factors<T> f, int64_t rows, Rows<const T> from, int64_t tail, Rows<T> into) {
  constexpr int kRows = rows_at_once<T>(kVectors);
  int64_t i = 0;
  for (; i + kRows <= rows; i += kRows, f.data += kRows * f.row_step)
    add_few_rows<kVectors, kRows, kTail, T>(f, from, tail, {into.row(i), into.stride});
  for (; i < rows; ++i, f.data += f.row_step)
    add_few_rows<kVectors, 1, kTail, T>(f, from, tail, {into.row(i), into.stride});
}

/// into rows [0, rows) += factors · from, in parts of at most four vectors of channels.
template <class T>
void add_product(const Factors<T>& f, int64_t rows, Rows<const T> from, int64_t channels, Rows<T> into) {
  const int64_t n = lanes<T>();
  for (int64_t c = 0; c < channels; c += 4 * n) {
    const int64_t part = HWY_MIN(4 * n, channels - c), tail = part % n;
    const Rows<const T> source{from.data + c, from.stride};
    const Rows<T> to{into.data + c, into.stride};
    switch ((part + n - 1) / n * 2 + (tail != 0 ? 1 : 0)) {
      case 2:
        add_rows<1, false>(f, rows, source, tail, to);
        break;
      case 3:
        add_rows<1, true>(f, rows, source, tail, to);
        break;
      case 4:
        add_rows<2, false>(f, rows, source, tail, to);
        break;
      case 5:
        add_rows<2, true>(f, rows, source, tail, to);
        break;
      case 6:
        add_rows<3, false>(f, rows, source, tail, to);
        break;
      case 7:
        add_rows<3, true>(f, rows, source, tail, to);
        break;
      case 8:
        add_rows<4, false>(f, rows, source, tail, to);
        break;
      default:
        add_rows<4, true>(f, rows, source, tail, to);
        break;
    }
  }
}

/// into row i (from 0) of the block += Σ over summaries of weight · its row; weights [summaries, lanes].
template <class T>
void sum_summaries(const Panel& p, const T* weights, const T* summaries, int64_t channels, Rows<T> into) {
  if (p.summaries == 0) return;
  add_product<T>({weights, 1, lanes<T>(), p.summaries}, p.rows, {summaries, channels}, channels, into);
}

/// into [summaries] rows += Σ over the block's rows of weight · row; `self` stands at the block's first row.
template <class T>
void gather_summaries(const Panel& p, const T* weights, Rows<const T> self, int64_t channels, Rows<T> into) {
  add_product<T>({weights, lanes<T>(), 1, p.rows}, p.summaries, self, channels, into);
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();
#endif
