// SPDX-License-Identifier: Apache-2.0
// Partial vectors and GELU. Included once per target.
#if defined(FIB_ENGINE_ACTIVATIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_ENGINE_ACTIVATIONS_INL_H_
#undef FIB_ENGINE_ACTIVATIONS_INL_H_
#else
#define FIB_ENGINE_ACTIVATIONS_INL_H_
#endif

#include <cstdint>

#include "kernels/simd/gelu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fib::engine {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;

/// The first n of a vector's columns: none for n <= 0, all for n >= lanes.
HWY_INLINE FloatVec load_columns(const float* at, int64_t n) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(FloatTag()));
  if (n >= lanes) return hn::LoadU(FloatTag(), at);
  return n <= 0 ? hn::Zero(FloatTag()) : kernels::HWY_NAMESPACE::load_first<float>(at, n);
}
HWY_INLINE void store_columns(FloatVec v, float* at, int64_t n) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(FloatTag()));
  if (n >= lanes) return hn::StoreU(v, FloatTag(), at);
  HWY_ALIGN float lane[hn::MaxLanes(FloatTag())];
  hn::Store(v, FloatTag(), lane);
  for (int64_t i = 0; i < n; ++i) at[i] = lane[i];
}

HWY_INLINE FloatVec gelu(FloatVec x) { return hn::Mul(x, kernels::HWY_NAMESPACE::normal_share(x).below); }

/// visit(where, how many): whole vectors, then what is left.
template <class Visit>
HWY_INLINE void for_vectors(int64_t count, const Visit& visit) {
  const auto n = static_cast<int64_t>(hn::Lanes(FloatTag()));
  int64_t i = 0;
  for (; i + n <= count; i += n) visit(i, n);
  if (i < count) visit(i, count - i);
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::engine
HWY_AFTER_NAMESPACE();
#endif
