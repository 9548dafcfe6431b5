// SPDX-License-Identifier: Apache-2.0
// Functions of single values and rows: GELU, magnitudes, quantization. Included once per target.
#if defined(FIB_ENGINE_ACTIVATIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_ENGINE_ACTIVATIONS_INL_H_
#undef FIB_ENGINE_ACTIVATIONS_INL_H_
#else
#define FIB_ENGINE_ACTIVATIONS_INL_H_
#endif

#include <cmath>
#include <cstdint>

#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fib::engine {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;

/// The first n of a vector's columns: none for n <= 0, all for n >= lanes.
HWY_INLINE hn::Vec<FloatTag> load_columns(const float* at, int64_t n) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(FloatTag()));
  if (n >= lanes) return hn::LoadU(FloatTag(), at);
  return n <= 0 ? hn::Zero(FloatTag()) : kernels::HWY_NAMESPACE::load_first<float>(at, n);
}
HWY_INLINE void store_columns(hn::Vec<FloatTag> v, float* at, int64_t n) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(FloatTag()));
  if (n >= lanes) return hn::StoreU(v, FloatTag(), at);
  HWY_ALIGN float lane[hn::MaxLanes(FloatTag())];
  hn::Store(v, FloatTag(), lane);
  for (int64_t i = 0; i < n; ++i) at[i] = lane[i];
}

/// x Φ(x) with Φ from the error function by Abramowitz and Stegun, 7.1.26: within 3e-7 for all x.
template <class V>
HWY_INLINE V gelu(V x) {
  const FloatTag d;
  const auto z = hn::Mul(hn::Abs(x), hn::Set(d, 0.70710678118654752f));
  const auto t = hn::Div(hn::Set(d, 1.0f), hn::MulAdd(z, hn::Set(d, 0.3275911f), hn::Set(d, 1.0f)));
  auto y = hn::MulAdd(t, hn::Set(d, 1.061405429f), hn::Set(d, -1.453152027f));
  y = hn::MulAdd(y, t, hn::Set(d, 1.421413741f));
  y = hn::MulAdd(y, t, hn::Set(d, -0.284496736f));
  y = hn::MulAdd(y, t, hn::Set(d, 0.254829592f));
  const auto e = kernels::HWY_NAMESPACE::exponential<float>(hn::Neg(hn::Mul(z, z)));
  const auto beyond = hn::Mul(hn::Mul(hn::Mul(y, t), e), hn::Set(d, 0.5f));  // 1 - Φ(|x|)
  const auto share = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), beyond, hn::Sub(hn::Set(d, 1.0f), beyond));
  return hn::Mul(x, share);
}

inline float largest_magnitude(const float* HWY_RESTRICT x, int64_t count) {
  const FloatTag d;
  const auto n = static_cast<int64_t>(hn::Lanes(d));
  auto top = hn::Zero(d);
  int64_t i = 0;
  for (; i + n <= count; i += n) top = hn::Max(top, hn::Abs(hn::LoadU(d, x + i)));
  if (i < count) top = hn::Max(top, hn::Abs(load_columns(x + i, count - i)));
  return hn::GetLane(hn::MaxOfLanes(d, top));
}

/// Rounded to the nearest integer, halves to the even one.
inline void write_quantized(const float* HWY_RESTRICT x, int64_t count, float factor, int16_t* HWY_RESTRICT into) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const FloatTag d;
  const auto n = static_cast<int64_t>(hn::Lanes(d));
  const hn::Rebind<int16_t, FloatTag> ds;
  const auto f = hn::Set(d, factor);
  for (; i + n <= count; i += n) {
    hn::StoreU(hn::DemoteTo(ds, hn::NearestInt(hn::Mul(hn::LoadU(d, x + i), f))), ds, into + i);
  }
#endif
  for (; i < count; ++i) into[i] = static_cast<int16_t>(std::lrint(x[i] * factor));
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::engine
HWY_AFTER_NAMESPACE();
#endif
