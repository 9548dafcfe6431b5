// SPDX-License-Identifier: Apache-2.0
// Vectors, partial loads and the exponential. Included once per target.
#if defined(FIB_KERNELS_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_KERNELS_VECTORS_INL_H_
#undef FIB_KERNELS_VECTORS_INL_H_
#else
#define FIB_KERNELS_VECTORS_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cstdint>
#include <limits>

/// For lambdas of inner loops: compiled for the target, and never a call.
#undef FIB_INLINE_LAMBDA
#define FIB_INLINE_LAMBDA HWY_ATTR __attribute__((always_inline))

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
using Vec = hn::Vec<Tag<T>>;

template <class T>
HWY_INLINE int64_t lanes() {
  return static_cast<int64_t>(hn::Lanes(Tag<T>()));
}

/// The first n < lanes elements, zeros behind; never touches what follows them.
template <class T>
HWY_INLINE Vec<T> load_first(const T* HWY_RESTRICT p, int64_t n) {
  const Tag<T> d;
#if HWY_MAX_BYTES <= 16
  // SSE, NEON and the emulation have no masked load and would read the full vector.
  HWY_ALIGN T lane[hn::MaxLanes(Tag<T>())] = {};
  for (int64_t i = 0; i < n; ++i) lane[i] = p[i];
  return hn::Load(d, lane);
#else
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(n)), d, p);
#endif
}

template <class T>
HWY_INLINE void store_first(Vec<T> v, T* HWY_RESTRICT p, int64_t n) {
  const Tag<T> d;
  hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(n)), d, p);
}

template <class T>
struct ExpConstants;
template <>
struct ExpConstants<float> {
  static constexpr int kDegree = 7, kMantissaBits = 23, kExponentBias = 127;
  static constexpr float kShift = 12582912.0f;                                // 1.5 · 2^23
  static constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;  // high: 9 bits, exact times |n| <= 127
  static constexpr float kLowest = -87.33f;                                   // e^x is subnormal below
};
template <>
struct ExpConstants<double> {
  static constexpr int kDegree = 13, kMantissaBits = 52, kExponentBias = 1023;
  static constexpr double kShift = 6755399441055744.0;  // 1.5 · 2^52
  static constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
  static constexpr double kLowest = -708.39;
};

/// 1/0!, 1/1!, …: the Taylor series, whose next term is below half an ulp for |r| <= ln 2 / 2 at the chosen degrees.
template <class T, int kDegree>
struct InverseFactorials {
  T value[kDegree + 1];
  constexpr InverseFactorials() : value() {
    double f = 1.0;
    for (int i = 0; i <= kDegree; ++i) value[i] = static_cast<T>(1.0 / f), f *= i + 1;
  }
};

/// e^x for x <= 80: about one ulp, zero instead of subnormals, e^-inf = 0, and NaN stays NaN, which
/// hwy/contrib/math's Exp turns into zero.
template <class T>
HWY_INLINE Vec<T> exponential(Vec<T> x) {
  using C = ExpConstants<T>;
  const Tag<T> d;
  const hn::RebindToSigned<Tag<T>> di;
  constexpr InverseFactorials<T, C::kDegree> kTaylor;
  // Adding the shift leaves round(x / ln 2) in the lowest bits of the mantissa, as an integer.
  const auto shifted = hn::MulAdd(x, hn::Set(d, T(1.4426950408889634074)), hn::Set(d, C::kShift));
  const auto n = hn::Sub(shifted, hn::Set(d, C::kShift));
  auto r = hn::NegMulAdd(n, hn::Set(d, C::kLn2High), x);
  r = hn::NegMulAdd(n, hn::Set(d, C::kLn2Low), r);
  // Even and odd powers apart: two short chains of multiply-adds instead of a long one, which would leave the
  // processor waiting for the last result.
  static_assert(C::kDegree % 2 == 1);
  const auto square = hn::Mul(r, r);
  auto even = hn::Set(d, kTaylor.value[C::kDegree - 1]), odd = hn::Set(d, kTaylor.value[C::kDegree]);
  for (int i = C::kDegree - 3; i >= 0; i -= 2) {
    even = hn::MulAdd(even, square, hn::Set(d, kTaylor.value[i]));
    odd = hn::MulAdd(odd, square, hn::Set(d, kTaylor.value[i + 1]));
  }
  const auto y = hn::MulAdd(odd, r, even);
  using TI = hn::TFromD<decltype(di)>;
  const auto exponent = hn::Add(hn::BitCast(di, shifted), hn::Set(di, TI{C::kExponentBias}));
  const auto power = hn::BitCast(d, hn::ShiftLeft<C::kMantissaBits>(exponent));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, C::kLowest)), hn::Mul(y, power));
}

/// m + log l, for a sum l of exponentials: -inf where there is nothing, NaN stays NaN.
template <class T>
HWY_INLINE Vec<T> log_sum(Vec<T> m, Vec<T> l) {
  const Tag<T> d;
  const auto value = hn::Add(m, hn::Log(d, l));
  const auto finite = hn::IfThenElse(hn::Eq(l, hn::Zero(d)), hn::Set(d, -std::numeric_limits<T>::infinity()), value);
  return hn::IfThenElse(hn::Eq(l, l), finite, l);
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();
#endif
