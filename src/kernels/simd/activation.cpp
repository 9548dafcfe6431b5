// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/activation.cpp"
#include "kernels/simd/dispatch.h"
//

#include "kernels/activation.h"
#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

/// With e = eˣ and n = e (e + 2), tanh(log(1 + e)) is n / (n + 2): nothing cancels for small e.
struct MishParts {
  Vec<float> x, e, n, d;  ///< x up to 20; d = n + 2
};
HWY_INLINE MishParts mish_parts(Vec<float> x) {
  const Tag<float> tag;
  const auto two = hn::Set(tag, 2.0f);
  // From 20 on the quotient is 1 in float32; e² must stay finite. NaN stays NaN.
  const auto most = hn::Set(tag, 20.0f), bounded = hn::IfThenElse(hn::Gt(x, most), most, x);
  const auto e = exponential<float>(bounded), n = hn::Mul(e, hn::Add(e, two));
  return {bounded, e, n, hn::Add(n, two)};
}

HWY_INLINE Vec<float> mish(Vec<float> x) {
  const MishParts p = mish_parts(x);
  return hn::Mul(x, hn::Div(p.n, p.d));
}

/// n / d + x · 4 e (e + 1) / d².
HWY_INLINE Vec<float> mish_derivative(Vec<float> x) {
  const Tag<float> tag;
  const MishParts p = mish_parts(x);
  const auto over = hn::Div(hn::Set(tag, 1.0f), p.d);
  const auto rise = hn::Mul(hn::Mul(hn::Mul(p.x, hn::Set(tag, 4.0f)), hn::Mul(p.e, over)),
                            hn::Mul(hn::Add(p.e, hn::Set(tag, 1.0f)), over));
  return hn::MulAdd(p.n, over, rise);
}

void mish_values(const float* x, int64_t count, float* out) {
  const Tag<float> tag;
  const int64_t n = lanes<float>();
  int64_t i = 0;
  for (; i + n <= count; i += n) hn::StoreU(mish(hn::LoadU(tag, x + i)), tag, out + i);
  if (i < count) store_first<float>(mish(load_first(x + i, count - i)), out + i, count - i);
}

void mish_gradients(const float* x, const float* grad_out, int64_t count, float* dx) {
  const Tag<float> tag;
  const int64_t n = lanes<float>();
  int64_t i = 0;
  for (; i + n <= count; i += n) {
    hn::StoreU(hn::Mul(hn::LoadU(tag, grad_out + i), mish_derivative(hn::LoadU(tag, x + i))), tag, dx + i);
  }
  if (i == count) return;
  const int64_t rest = count - i;
  const auto derivative = mish_derivative(load_first(x + i, rest));
  store_first<float>(hn::Mul(load_first(grad_out + i, rest), derivative), dx + i, rest);
}

const MishTable& mish_table() {
  static constexpr MishTable kTable{mish_values, mish_gradients};
  return kTable;
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fib::kernels {
HWY_EXPORT(mish_table);
FIB_TABLE_OF_TARGET(MishTable, mish_of_target, mish_table)
}  // namespace fib::kernels
#endif
