// SPDX-License-Identifier: Apache-2.0
// Layer norm, softmax and functions of single values along rows. Included once per target.
#if defined(FIB_ENGINE_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_ENGINE_ROWS_INL_H_
#undef FIB_ENGINE_ROWS_INL_H_
#else
#define FIB_ENGINE_ROWS_INL_H_
#endif

#include <cmath>
#include <limits>

#include "engine/simd/activations-inl.h"
#include "engine/simd_table.h"

HWY_BEFORE_NAMESPACE();
namespace fib::engine {
namespace HWY_NAMESPACE {

inline float row_sum(const float* HWY_RESTRICT x, int64_t count) {
  auto sum = hn::Zero(FloatTag());
  for_vectors(count, [&](int64_t i, int64_t n) HWY_ATTR { sum = hn::Add(sum, load_columns(x + i, n)); });
  return hn::GetLane(hn::SumOfLanes(FloatTag(), sum));
}

inline float square_sum(const float* HWY_RESTRICT x, int64_t count, float mean) {
  const FloatTag d;
  auto sum = hn::Zero(d);
  const auto m = hn::Set(d, mean);
  for_vectors(count, [&](int64_t i, int64_t n) HWY_ATTR {
    // Lanes that are not there must not count as zeros, whose distance from the mean is not zero.
    auto off = hn::Sub(load_columns(x + i, n), m);
    off = hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(n)), off);
    sum = hn::MulAdd(off, off, sum);
  });
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

inline void layer_norm_rows(const NormRows& r, int64_t begin, int64_t end) {
  const FloatTag d;
  const auto channels = static_cast<float>(r.channels);
  for (int64_t row = begin; row < end; ++row) {
    const float* HWY_RESTRICT x = r.x + row * r.x_stride;
    float* HWY_RESTRICT out = r.out + row * r.out_stride;
    const float mean = row_sum(x, r.channels) / channels;
    const float inverse = 1.0f / std::sqrt(square_sum(x, r.channels, mean) / channels + r.epsilon);
    const auto m = hn::Set(d, mean), f = hn::Set(d, inverse);
    for_vectors(r.channels, [&](int64_t i, int64_t n) HWY_ATTR {
      const auto normal = hn::Mul(hn::Sub(load_columns(x + i, n), m), f);
      store_columns(hn::MulAdd(normal, load_columns(r.weight + i, n), load_columns(r.bias + i, n)), out + i, n);
    });
  }
}

inline void softmax_row(const float* HWY_RESTRICT x, float* HWY_RESTRICT out, int64_t count) {
  const FloatTag d;
  float row_max = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < count; ++i) row_max = std::max(row_max, x[i]);
  const auto highest = hn::Set(d, row_max);
  auto sum = hn::Zero(d);
  for_vectors(count, [&](int64_t i, int64_t n) HWY_ATTR {
    auto e = kernels::HWY_NAMESPACE::exponential<float>(hn::Sub(load_columns(x + i, n), highest));
    e = hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(n)), e);
    sum = hn::Add(sum, e);
    store_columns(e, out + i, n);
  });
  const auto inverse = hn::Set(d, 1.0f / hn::GetLane(hn::SumOfLanes(d, sum)));
  for_vectors(count, [&](int64_t i, int64_t n)
                         HWY_ATTR { store_columns(hn::Mul(load_columns(out + i, n), inverse), out + i, n); });
}

inline void gelu_row(const float* HWY_RESTRICT x, float* HWY_RESTRICT out, int64_t count) {
  for_vectors(count, [&](int64_t i, int64_t n) HWY_ATTR { store_columns(gelu(load_columns(x + i, n)), out + i, n); });
}

/// 1 / (1 + e^-x), from e^-|x| so that nothing overflows.
inline void sigmoid_row(const float* HWY_RESTRICT x, float* HWY_RESTRICT out, int64_t count) {
  const FloatTag d;
  const auto one = hn::Set(d, 1.0f);
  for_vectors(count, [&](int64_t i, int64_t n) HWY_ATTR {
    const auto v = load_columns(x + i, n);
    const auto e = kernels::HWY_NAMESPACE::exponential<float>(hn::Neg(hn::Abs(v)));
    const auto inverse = hn::Div(one, hn::Add(one, e));
    store_columns(hn::IfThenElse(hn::Lt(v, hn::Zero(d)), hn::Mul(e, inverse), inverse), out + i, n);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::engine
HWY_AFTER_NAMESPACE();
#endif
