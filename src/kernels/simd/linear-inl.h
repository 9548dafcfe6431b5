// SPDX-License-Identifier: Apache-2.0
// Blocks of linear layers by the product of dense attention. Included once per target.
#if defined(FIB_KERNELS_LINEAR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_KERNELS_LINEAR_INL_H_
#undef FIB_KERNELS_LINEAR_INL_H_
#else
#define FIB_KERNELS_LINEAR_INL_H_
#endif

#include "kernels/linear.h"
#include "kernels/simd/dense_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

inline constexpr int64_t kLinearPanel = kPanelWidth<float>;

struct RowRange {
  int64_t first, count;
};
inline RowRange rows_of_task(const LinearShape& s, int64_t task) {
  const int64_t first = task * kLinearRows;
  return {first, HWY_MIN(kLinearRows, s.rows - first)};
}

inline void pack_linear_outputs(const LinearShape& s, const float* weight, int64_t panel, float* into) {
  constexpr int64_t W = kLinearPanel;
  pack_panel<float>({weight + panel * W * s.from, s.from}, W, s.from, 1.0f, into + panel * W * s.from);
}

inline void pack_linear_inputs(const LinearShape& s, const float* weight, int64_t panel, float* into) {
  constexpr int64_t W = kLinearPanel;
  for (int64_t n = 0; n < s.to; ++n) std::copy_n(weight + n * s.from + panel * W, W, into + (panel * s.to + n) * W);
}

/// out [rows, columns] = a [rows, depth] · panels, each [depth, W].
inline void multiply_panels(const float* a, int64_t rows, int64_t depth, const float* panels, float* out,
                            int64_t columns) {
  constexpr int64_t W = kLinearPanel;
  for (int64_t n = 0; n < columns; n += W, panels += depth * W) {
    for (int64_t k = 0; k < depth; k += kLinearDepth) {
      const Product<float> p{a + k, depth, 1, panels + k * W, W, HWY_MIN(kLinearDepth, depth - k), out + n, columns};
      k == 0 ? multiply<2, Into::replace, float>(p, rows) : multiply<2, Into::add, float>(p, rows);
    }
  }
}

/// What GELU and its derivative are made of: Φ(x), the normal distribution's share below x, and e^(-x²/2). The tail is
/// formula 7.1.26 of Abramowitz and Stegun, off by 1.5e-7 at most.
struct NormalShare {
  Vec<float> below, density;
};
HWY_INLINE NormalShare normal_share(Vec<float> x) {
  const Tag<float> d;
  const auto half = hn::Set(d, 0.5f), one = hn::Set(d, 1.0f);
  const auto e = exponential<float>(hn::Mul(hn::Mul(x, x), hn::Set(d, -0.5f)));
  const auto t = hn::Div(one, hn::MulAdd(hn::Abs(x), hn::Set(d, 0.3275911f * 0.70710678f), one));
  auto y = hn::MulAdd(t, hn::Set(d, 1.061405429f), hn::Set(d, -1.453152027f));
  y = hn::MulAdd(t, y, hn::Set(d, 1.421413741f));
  y = hn::MulAdd(t, y, hn::Set(d, -0.284496736f));
  y = hn::MulAdd(t, y, hn::Set(d, 0.254829592f));
  const auto tail = hn::Mul(hn::Mul(hn::Mul(t, y), half), e);
  return {hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(one, tail)), e};
}

/// Adds the bias; with GELU the sum goes to `raised` and GELU of it to `out`.
inline void finish_linear_rows(const LinearShape& s, const LinearForward& call, RowRange r) {
  const Tag<float> d;
  const int64_t n = lanes<float>();
  for (int64_t i = r.first * s.to; i < (r.first + r.count) * s.to; i += s.to) {
    for (int64_t c = 0; c < s.to; c += n) {
      auto value = hn::LoadU(d, call.out + i + c);
      if (call.bias != nullptr) value = hn::Add(value, hn::LoadU(d, call.bias + c));
      if (call.raised != nullptr) {
        hn::StoreU(value, d, call.raised + i + c);
        value = hn::Mul(value, normal_share(value).below);
      }
      hn::StoreU(value, d, call.out + i + c);
    }
  }
}

inline void linear_rows(const LinearShape& s, const LinearForward& call, const float* packed, int64_t task) {
  const RowRange r = rows_of_task(s, task);
  multiply_panels(call.x + r.first * s.from, r.count, s.from, packed, call.out + r.first * s.to, s.to);
  if (call.bias != nullptr || call.raised != nullptr) finish_linear_rows(s, call, r);
}

/// GELU' = Φ(x) + x · φ(x).
inline void gelu_gradient_rows(const LinearShape& s, const LinearBackward& call, int64_t task, float* gradient) {
  const Tag<float> d;
  const RowRange r = rows_of_task(s, task);
  const auto height = hn::Set(d, 0.39894228f);  // 1 / √(2π)
  for (int64_t i = r.first * s.to; i < (r.first + r.count) * s.to; i += lanes<float>()) {
    const auto x = hn::LoadU(d, call.raised + i);
    const NormalShare share = normal_share(x);
    const auto slope = hn::MulAdd(hn::Mul(x, height), share.density, share.below);
    hn::StoreU(hn::Mul(hn::LoadU(d, call.grad_out + i), slope), d, gradient + i);
  }
}

inline void linear_input_gradients(const LinearShape& s, const float* gradient, const float* packed, int64_t task,
                                   float* dx) {
  const RowRange r = rows_of_task(s, task);
  multiply_panels(gradient + r.first * s.to, r.count, s.to, packed, dx + r.first * s.from, s.from);
}

/// Copies columns [p.begin, p.end) of `count` rows together, [count, columns], and adds them to the bias's gradient.
inline void pack_gradient(const LinearShape& s, const float* gradient, const WeightPart& p, int64_t count,
                          float* into) {
  const int64_t columns = p.end - p.begin;
  for (int64_t i = 0; i < count; ++i) {
    const float* row = gradient + i * s.to + p.begin;
    for (int64_t c = 0; c < columns; ++c) into[i * columns + c] = row[c];
    for (int64_t c = 0; p.dbias != nullptr && c < columns; ++c) p.dbias[p.begin + c] += row[c];
  }
}

inline void linear_weight_gradients(const LinearShape& s, const float* x, const float* gradient, const WeightPart& p,
                                    Buffer<float>& scratch) {
  const int64_t columns = p.end - p.begin;
  float* packed = scratch.ensure(static_cast<size_t>(kLinearSum * columns));
  if (p.dbias != nullptr) std::fill(p.dbias + p.begin, p.dbias + p.end, 0.0f);
  for (int64_t i = p.first; i < p.last; i += kLinearSum) {
    const int64_t count = HWY_MIN(kLinearSum, p.last - i);
    pack_gradient(s, gradient + i * s.to, p, count, packed);
    for (int64_t k = 0; k < s.from; k += kLinearPanel) {
      float* into = p.dweight + p.begin * s.from + k;
      const Product<float> product{packed, 1, columns, x + i * s.from + k, s.from, count, into, s.from};
      i == p.first ? multiply<2, Into::replace, float>(product, columns)
                   : multiply<2, Into::add, float>(product, columns);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();
#endif
