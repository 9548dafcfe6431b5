// SPDX-License-Identifier: Apache-2.0
// Layer norm of rows, for its step and for what linear layers read. Included once per target.
#if defined(FIB_ENGINE_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_ENGINE_ROWS_INL_H_
#undef FIB_ENGINE_ROWS_INL_H_
#else
#define FIB_ENGINE_ROWS_INL_H_
#endif

#include <cmath>

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

}  // namespace HWY_NAMESPACE
}  // namespace fib::engine
HWY_AFTER_NAMESPACE();
#endif
