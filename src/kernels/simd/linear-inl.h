// SPDX-License-Identifier: Apache-2.0
// Blocks of linear layers by the product of dense attention. Included once per target.
#if defined(FIB_KERNELS_LINEAR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_KERNELS_LINEAR_INL_H_
#undef FIB_KERNELS_LINEAR_INL_H_
#else
#define FIB_KERNELS_LINEAR_INL_H_
#endif

#include "base/processor.h"
#include "kernels/linear.h"
#include "kernels/simd/dense_product-inl.h"
#include "kernels/simd/gelu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

/// A range of rows, columns or depth.
struct Range {
  int64_t begin, end;
  int64_t count() const { return end - begin; }
};

/// Part i of `count` of [0, whole), as equal as can be.
inline Range equal_part(int64_t whole, int64_t i, int64_t count) {
  return {whole * i / count, whole * (i + 1) / count};
}

inline Range rows_of_task(const LinearShape& s, int64_t task) {
  return {task * kLinearRows, HWY_MIN((task + 1) * kLinearRows, s.rows)};
}

/// A panel has two vectors, or three where one would be left alone: one needs a load for every multiply-add.
inline int64_t linear_panels(int64_t width) { return HWY_MAX(int64_t{1}, width / lanes<float>() / 2); }

inline Range panel_columns(int64_t width, int64_t panel) {
  const Range r = equal_part(width / lanes<float>(), panel, linear_panels(width));
  return {r.begin * lanes<float>(), r.end * lanes<float>()};
}

/// Depth of a product: a panel of two vectors of this depth takes three quarters of the first-level cache. Where that
/// is less than 384, as on AVX-512, more trips of sums would cost more than a panel that stays. No sum changes its
/// order with it.
inline int64_t linear_depth() {
  const int64_t row = 2 * lanes<float>() * static_cast<int64_t>(sizeof(float));
  return HWY_MAX(int64_t{384}, caches().first * 3 / 4 / row);
}

inline void pack_linear_outputs(const LinearShape& s, const float* weight, int64_t panel, float* into) {
  const Range c = panel_columns(s.to, panel);
  transpose<float>({weight + c.begin * s.from, s.from}, c.count(), s.from, 1.0f, {into + c.begin * s.from, c.count()});
}

inline void pack_linear_inputs(const LinearShape& s, const float* weight, int64_t panel, float* into) {
  const Range c = panel_columns(s.from, panel);
  for (int64_t n = 0; n < s.to; ++n) {
    std::copy_n(weight + n * s.from + c.begin, c.count(), into + c.begin * s.to + n * c.count());
  }
}

/// Results before GELU of some columns of some rows, with nothing between them.
struct Tile {
  const float* data;
  int64_t rows, columns;
};

/// out = GELU(x) = x · Φ(x), and derivative = GELU'(x) = Φ(x) + x · φ(x), which would need the same exponential again
/// in backward.
inline void gelu_tile(Tile x, float* out, float* derivative, int64_t stride) {
  const Tag<float> d;
  const auto height = hn::Set(d, 0.39894228f);  // 1 / √(2π)
  for (int64_t i = 0; i < x.rows; ++i, x.data += x.columns, out += stride, derivative += stride) {
    for (int64_t c = 0; c < x.columns; c += lanes<float>()) {
      const auto value = hn::LoadU(d, x.data + c);
      const NormalShare share = normal_share(value);
      hn::StoreU(hn::Mul(value, share.below), d, out + c);
      hn::StoreU(hn::MulAdd(hn::Mul(value, height), share.density, share.below), d, derivative + c);
    }
  }
}

/// Arrays that the next block of rows will read, fetched into the second-level cache while this one computes. An array
/// of more than three eighths of it would drive out what is in use, and is not.
class Prefetch {
 public:
  /// `floats` from here on, a part at each of so many visits.
  void add(const float* from, int64_t floats, int64_t visits) {
    if (floats * static_cast<int64_t>(sizeof(float)) > caches().second * 3 / 8) return;
    const int64_t lines = (floats + kLine - 1) / kLine;
    runs_[count_++] = {from, lines, (lines + visits - 1) / visits};
  }
  void visit() {
    for (int64_t i = 0; i < count_; ++i) {
      Run& run = runs_[i];
      const int64_t now = HWY_MIN(run.step, run.left);
      for (int64_t line = 0; line < now; ++line) __builtin_prefetch(run.at + line * kLine, 0, 2);
      run.at += now * kLine;
      run.left -= now;
    }
  }

 private:
  static constexpr int64_t kLine = 64 / sizeof(float);
  struct Run {
    const float* at;
    int64_t left, step;
  };
  Run runs_[3];
  int64_t count_ = 0;
};

/// Fetches what a product will overwrite while its sums are made: a store that misses holds up those behind it.
inline void fetch_rows(const float* rows, int64_t count, int64_t columns, int64_t stride) {
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t c = 0; c < columns; c += 16) __builtin_prefetch(rows + i * stride + c, 1);
  }
}

/// out [rows, columns] = a [rows, depth] · panels + bias, then GELU where there is a derivative to write.
struct BlockProduct {
  int64_t rows, depth, columns;
  const float* a;
  int64_t a_row;
  const float *panels, *bias;  ///< bias: null for none
  float *out, *derivative;
  float* tile = nullptr;  ///< with a derivative: [rows, columns of a panel]
};

/// Adds a range of the depth to the columns of one panel. Bias is where the first range starts. With GELU, which
/// happens behind the last, sums gather in a tile of at most 18 KB: the same columns of 96 rows of `out` may lie in few
/// sets of the first-level cache.
template <int kVectors>
void multiply_columns(const BlockProduct& b, Range columns, Range depth, Prefetch& prefetch) {
  const int64_t width = columns.count();
  const bool begins = depth.begin == 0, gelu = b.derivative != nullptr;
  const float* panel = b.panels + columns.begin * b.depth + depth.begin * width;
  float *out = b.out + columns.begin, *derivative = gelu ? b.derivative + columns.begin : nullptr;
  Product<float> p{b.a + depth.begin,       b.a_row, 1, panel, width, depth.count(), gelu ? b.tile : out,
                   gelu ? width : b.columns};
  for_row_groups<kVectors>(b.rows, [&](int64_t first, int64_t count) {
    prefetch.visit();
    if (begins) fetch_rows(out + first * b.columns, count, width, b.columns);
    if (begins && gelu) fetch_rows(derivative + first * b.columns, count, width, b.columns);
    if (!begins) {
      multiply_group<kVectors, Into::add, float>(p, count);
    } else if (b.bias == nullptr) {
      multiply_group<kVectors, Into::replace, float>(p, count);
    } else {
      multiply_group<kVectors, Into::add_to_row, float>(p, count, b.bias + columns.begin);
    }
    p.a += count * p.a_row;
    p.c += count * p.c_row;
  });
  if (gelu && depth.end == b.depth) gelu_tile({b.tile, b.rows, width}, out, derivative, b.columns);
}

inline void multiply_panel(const BlockProduct& b, int64_t panel, Range depth, Prefetch& prefetch) {
  const Range columns = panel_columns(b.columns, panel);
  const int64_t vectors = columns.count() / lanes<float>();
  if (vectors == 3) return multiply_columns<3>(b, columns, depth, prefetch);
  if (vectors == 2) return multiply_columns<2>(b, columns, depth, prefetch);
  multiply_columns<1>(b, columns, depth, prefetch);
}

inline int64_t depth_parts(int64_t depth) { return (depth + linear_depth() - 1) / linear_depth(); }

/// Groups of rows that multiply_block visits.
inline int64_t groups_of_block(int64_t depth, int64_t columns) {
  return linear_panels(columns) * depth_parts(depth) * (kLinearRows / kProductRows<2>);
}

inline void multiply_block(const BlockProduct& b, Prefetch& prefetch) {
  const int64_t parts = depth_parts(b.depth);
  for (int64_t panel = 0; panel < linear_panels(b.columns); ++panel) {
    for (int64_t i = 0; i < parts; ++i) multiply_panel(b, panel, equal_part(b.depth, i, parts), prefetch);
  }
}

inline void linear_rows(const LinearShape& s, const LinearForward& call, const float* packed, int64_t task) {
  const Range r = rows_of_task(s, task), next = rows_of_task(s, task + 1);
  Prefetch prefetch;
  if (next.begin < s.rows) {
    prefetch.add(call.x + next.begin * s.from, next.count() * s.from, groups_of_block(s.from, s.to));
  }
  HWY_ALIGN float tile[kLinearRows * 3 * hn::MaxLanes(Tag<float>())];
  multiply_block(
      {r.count(), s.from, s.to, call.x + r.begin * s.from, s.from, packed, call.bias, call.out + r.begin * s.to,
       call.derivative == nullptr ? nullptr : call.derivative + r.begin * s.to, tile},
      prefetch);
}

/// From one row of `columns` to the next: an odd number of cache lines, so that rows below each other lie in different
/// sets of the first-level cache.
inline int64_t odd_lines(int64_t columns) { return ((columns + 15) / 16 | 1) * 16; }

/// Rows of the gradient as it is before GELU.
struct GradientRows {
  float* data;
  int64_t stride;
};

/// Fills them with some columns of some rows, and adds these to the bias's gradient where one is wanted.
inline void pack_gradient(const LinearShape& s, const LinearBackward& call, Range columns, Range rows, float* dbias,
                          GradientRows into) {
  const Tag<float> d;
  for (int64_t i = rows.begin; i < rows.end; ++i, into.data += into.stride) {
    const int64_t at = i * s.to;
    for (int64_t c = columns.begin; c < columns.end; c += lanes<float>()) {
      auto g = hn::LoadU(d, call.grad_out + at + c);
      if (call.derivative != nullptr) g = hn::Mul(g, hn::LoadU(d, call.derivative + at + c));
      hn::StoreU(g, d, into.data + c - columns.begin);
      if (dbias != nullptr) hn::StoreU(hn::Add(hn::LoadU(d, dbias + c), g), d, dbias + c);
    }
  }
}

inline void linear_input_gradients(const LinearShape& s, const LinearBackward& call, const float* packed, int64_t task,
                                   float* own) {
  const Range r = rows_of_task(s, task), next = rows_of_task(s, task + 1);
  const float* gradient = call.derivative == nullptr ? call.grad_out : own;
  if (call.derivative != nullptr) pack_gradient(s, call, {0, s.to}, r, nullptr, {own + r.begin * s.to, s.to});
  if (packed == nullptr) return;
  Prefetch prefetch;
  if (next.begin < s.rows) {
    const int64_t floats = next.count() * s.to, groups = groups_of_block(s.to, s.from);
    prefetch.add(call.grad_out + next.begin * s.to, floats, groups);
    if (call.derivative != nullptr) prefetch.add(call.derivative + next.begin * s.to, floats, groups);
  }
  multiply_block(
      {r.count(), s.to, s.from, gradient + r.begin * s.to, s.to, packed, nullptr, call.dx + r.begin * s.from, nullptr},
      prefetch);
}

/// Whether rows of x below each other lie in the same set of a first-level cache, which then holds eight of them: their
/// columns are copied together before every six rows of weights read them again.
inline bool columns_collide(const LinearShape& s) { return s.from % 1024 == 0; }

inline void pack_columns(const LinearShape& s, const float* x, Range columns, Range rows, float* into) {
  for (int64_t i = rows.begin; i < rows.end; ++i, into += columns.count()) {
    std::copy_n(x + i * s.from + columns.begin, columns.count(), into);
  }
}

template <int kVectors>
void add_weights(Product<float> p, int64_t rows, bool first, Prefetch& prefetch) {
  for_row_groups<kVectors>(rows, [&](int64_t, int64_t count) {
    prefetch.visit();
    first ? multiply_group<kVectors, Into::replace, float>(p, count)
          : multiply_group<kVectors, Into::add, float>(p, count);
    p.a += count;
    p.c += count * p.c_row;
  });
}

/// One block of rows of a WeightPart.
struct WeightBlock {
  const LinearShape& s;
  const LinearBackward& call;
  const WeightPart& part;
  Range rows;
  GradientRows gradient;
  float* columns;  ///< [rows, a panel], where columns of x collide

  void add_inputs(const float* packed) const {
    Prefetch none;
    multiply_block({rows.count(), s.to, s.from, gradient.data, gradient.stride, packed, nullptr,
                    call.dx + rows.begin * s.from, nullptr},
                   none);
  }

  void add_weights_of(int64_t panel, Prefetch& prefetch) const {
    const Range k = panel_columns(s.from, panel);
    const int64_t vectors = k.count() / lanes<float>();
    const float* x = call.x + rows.begin * s.from + k.begin;
    float* into = part.dweight + part.begin * s.from + k.begin;
    Product<float> p{gradient.data, 1, gradient.stride, x, s.from, rows.count(), into, s.from};
    if (columns_collide(s)) {
      pack_columns(s, call.x, k, rows, columns);
      p.b = columns, p.b_row = k.count();
    }
    const int64_t count = part.end - part.begin;
    const bool first = rows.begin == part.first;
    if (vectors == 3) return add_weights<3>(p, count, first, prefetch);
    if (vectors == 2) return add_weights<2>(p, count, first, prefetch);
    add_weights<1>(p, count, first, prefetch);
  }

  /// What the next block reads, where that is whole rows.
  Prefetch next() const {
    Prefetch prefetch;
    const int64_t count = HWY_MIN(part.step, part.last - rows.end);
    if (count <= 0 || part.end - part.begin < s.to) return prefetch;
    const int64_t groups = linear_panels(s.from) * ((s.to + 5) / 6);
    prefetch.add(call.x + rows.end * s.from, count * s.from, groups);
    prefetch.add(call.grad_out + rows.end * s.to, count * s.to, groups);
    if (call.derivative != nullptr) prefetch.add(call.derivative + rows.end * s.to, count * s.to, groups);
    return prefetch;
  }
};

inline void linear_weight_gradients(const LinearShape& s, const LinearBackward& call, const float* packed,
                                    const WeightPart& p, Buffer<float>& scratch) {
  const Range columns{p.begin, p.end};
  const int64_t stride = odd_lines(columns.count());
  const int64_t widest = columns_collide(s) ? 3 * lanes<float>() : 0;
  const GradientRows gradient{scratch.ensure(static_cast<size_t>(p.step * (stride + widest))), stride};
  if (p.dbias != nullptr) std::fill(p.dbias + p.begin, p.dbias + p.end, 0.0f);
  for (int64_t i = p.first; i < p.last; i += p.step) {
    const WeightBlock block{s, call, p, {i, HWY_MIN(i + p.step, p.last)}, gradient, gradient.data + p.step * stride};
    pack_gradient(s, call, columns, block.rows, p.dbias, block.gradient);
    if (packed != nullptr) block.add_inputs(packed);
    Prefetch prefetch = block.next();
    for (int64_t panel = 0; panel < linear_panels(s.from); ++panel) block.add_weights_of(panel, prefetch);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();
#endif
