// SPDX-License-Identifier: Apache-2.0
// What GELU and its derivative are made of, for layers that are trained and for compiled ones. Included once per
// target.
#if defined(FIB_KERNELS_GELU_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_KERNELS_GELU_INL_H_
#undef FIB_KERNELS_GELU_INL_H_
#else
#define FIB_KERNELS_GELU_INL_H_
#endif

#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

/// e^(-x²/2) = 2^y for y = -x² / (2 ln 2), at least 2^-100: n is y rounded, 2^(y-n) a polynomial that is off by 3e-9,
/// and n is added to its exponent. Below the precision of `exponential` only where the result is small itself, and
/// never so small that what it is multiplied by makes it subnormal: that costs a hundred cycles.
HWY_INLINE Vec<float> gaussian(Vec<float> x) {
  const Tag<float> d;
  const hn::RebindToSigned<Tag<float>> di;
  const auto shift = hn::Set(d, ExpConstants<float>::kShift);
  const auto y = hn::Max(hn::Mul(hn::Mul(x, x), hn::Set(d, -0.72134752f)), hn::Set(d, -100.0f));
  const auto shifted = hn::Add(y, shift);
  const auto f = hn::Sub(y, hn::Sub(shifted, shift));
  auto p = hn::MulAdd(f, hn::Set(d, 1.5461445e-4f), hn::Set(d, 1.3400428e-3f));
  p = hn::MulAdd(f, p, hn::Set(d, 9.6180567e-3f));
  p = hn::MulAdd(f, p, hn::Set(d, 5.5503272e-2f));
  p = hn::MulAdd(f, p, hn::Set(d, 2.4022651e-1f));
  p = hn::MulAdd(f, p, hn::Set(d, 6.9314721e-1f));
  p = hn::MulAdd(f, p, hn::Set(d, 1.0f));
  return hn::BitCast(d, hn::Add(hn::BitCast(di, p), hn::ShiftLeft<23>(hn::BitCast(di, shifted))));
}

/// What GELU and its derivative are made of: Φ(x), the normal distribution's share below x, and e^(-x²/2). The rest
/// above is formula 7.1.26 of Abramowitz and Stegun, off by 1.5e-7 at most, with halved coefficients.
struct NormalShare {
  Vec<float> below, density;
};
HWY_INLINE NormalShare normal_share(Vec<float> x) {
  const Tag<float> d;
  const auto one = hn::Set(d, 1.0f);
  const auto e = gaussian(x);
  const auto t = hn::Div(one, hn::MulAdd(hn::Abs(x), hn::Set(d, 0.3275911f * 0.70710678f), one));
  auto y = hn::MulAdd(t, hn::Set(d, 0.5307027145f), hn::Set(d, -0.7265760135f));
  y = hn::MulAdd(t, y, hn::Set(d, 0.7107068705f));
  y = hn::MulAdd(t, y, hn::Set(d, -0.142248368f));
  y = hn::MulAdd(t, y, hn::Set(d, 0.127414796f));
  const auto tail = hn::Mul(hn::Mul(t, y), e);
  return {hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(one, tail)), e};
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();
#endif
