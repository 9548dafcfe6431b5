// SPDX-License-Identifier: Apache-2.0
// Arrays whose lanes are tokens: rows transposed and back, products and weighted sums of shifted tokens. Included once
// per target.
#if defined(FIB_KERNELS_CHANNELS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_KERNELS_CHANNELS_INL_H_
#undef FIB_KERNELS_CHANNELS_INL_H_
#else
#define FIB_KERNELS_CHANNELS_INL_H_
#endif

#include <cstdint>

#include "kernels/narrow.h"
#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

using Floats = Tag<float>;
using FloatVec = Vec<float>;

#if HWY_TARGET != HWY_SCALAR
/// 128-bit blocks of a vector.
template <class D>
constexpr int64_t blocks_of(D d) {
  return static_cast<int64_t>(hn::MaxLanes(d)) / 4;
}

/// Four channels of rows 0, 4, 8, …, one row in each block.
template <class D>
HWY_INLINE hn::Vec<D> load_quads(D d, const float* row, int64_t stride) {
  if constexpr (blocks_of(D()) == 1) {
    return hn::LoadU(d, row);
  } else {
    const hn::Half<D> half;
    const auto low = load_quads(half, row, stride);
    return hn::Combine(d, load_quads(half, row + 4 * blocks_of(half) * stride, stride), low);
  }
}

template <class D>
HWY_INLINE void store_quads(D d, hn::Vec<D> v, float* row, int64_t stride) {
  if constexpr (blocks_of(D()) == 1) {
    hn::StoreU(v, d, row);
  } else {
    const hn::Half<D> half;
    store_quads(half, hn::LowerHalf(half, v), row, stride);
    store_quads(half, hn::UpperHalf(half, v), row + 4 * blocks_of(half) * stride, stride);
  }
}

struct Four {
  FloatVec a, b, c, d;
};

/// The squares of 4 x 4 in each 128-bit block, transposed.
HWY_INLINE Four transpose_blocks(const Four& x) {
  const Floats f;
  const hn::Repartition<double, Floats> pairs;
  const auto pair = [&](FloatVec v) FIB_INLINE_LAMBDA { return hn::BitCast(pairs, v); };
  const auto ab = hn::InterleaveLower(f, x.a, x.b), ab_high = hn::InterleaveUpper(f, x.a, x.b);
  const auto cd = hn::InterleaveLower(f, x.c, x.d), cd_high = hn::InterleaveUpper(f, x.c, x.d);
  return {hn::BitCast(f, hn::InterleaveLower(pairs, pair(ab), pair(cd))),
          hn::BitCast(f, hn::InterleaveUpper(pairs, pair(ab), pair(cd))),
          hn::BitCast(f, hn::InterleaveLower(pairs, pair(ab_high), pair(cd_high))),
          hn::BitCast(f, hn::InterleaveUpper(pairs, pair(ab_high), pair(cd_high)))};
}
#endif

/// Transposed arrays of a head, or of its pairs: rows of tokens.
struct Channels {
  float* first;  ///< channel 0 of patch token 0
  int64_t stride;
  float* at(int64_t channel, int64_t token) const { return first + channel * stride + token; }
};

/// into = the rows of patch tokens; tokens that fill up the last vector are zero.
inline void rows_to_channels(Rows<const float> from, int64_t tokens, int64_t channels, Channels into) {
  const int64_t n = lanes<float>();
  int64_t t = 0;
#if HWY_TARGET != HWY_SCALAR
  const Floats d;
  for (; t + n <= tokens; t += n) {
    for (int64_t c = 0; c < channels; c += 4) {
      const float* row = from.row(t) + c;
      const Four x{load_quads(d, row, from.stride), load_quads(d, row + from.stride, from.stride),
                   load_quads(d, row + 2 * from.stride, from.stride),
                   load_quads(d, row + 3 * from.stride, from.stride)};
      const Four y = transpose_blocks(x);
      hn::StoreU(y.a, d, into.at(c, t));
      hn::StoreU(y.b, d, into.at(c + 1, t));
      hn::StoreU(y.c, d, into.at(c + 2, t));
      hn::StoreU(y.d, d, into.at(c + 3, t));
    }
  }
#endif
  for (int64_t end = (tokens + n - 1) / n * n; t < end; ++t) {
    for (int64_t c = 0; c < channels; ++c) *into.at(c, t) = t < tokens ? from.row(t)[c] : 0.0f;
  }
}

inline void channels_to_rows(Channels from, int64_t tokens, int64_t channels, Rows<float> into) {
  int64_t t = 0;
#if HWY_TARGET != HWY_SCALAR
  const Floats d;
  const int64_t n = lanes<float>();
  for (; t + n <= tokens; t += n) {
    for (int64_t c = 0; c < channels; c += 4) {
      const Four y = transpose_blocks({hn::LoadU(d, from.at(c, t)), hn::LoadU(d, from.at(c + 1, t)),
                                       hn::LoadU(d, from.at(c + 2, t)), hn::LoadU(d, from.at(c + 3, t))});
      float* row = into.row(t) + c;
      store_quads(d, y.a, row, into.stride);
      store_quads(d, y.b, row + into.stride, into.stride);
      store_quads(d, y.c, row + 2 * into.stride, into.stride);
      store_quads(d, y.d, row + 3 * into.stride, into.stride);
    }
  }
#endif
  for (; t < tokens; ++t) {
    for (int64_t c = 0; c < channels; ++c) into.row(t)[c] = *from.at(c, t);
  }
}

/// out [kCount, …] = factor · Σ_c a's channel c · partner's channel c, lane by lane.
template <int kCount>
HWY_INLINE void dot_partners(NarrowPartner a, const NarrowPartner* p, int64_t channels, FloatVec factor, float* out,
                             int64_t out_step) {
  const Floats d;
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  for (int64_t c = 0; c < channels; ++c) {
    const auto x = hn::LoadU(d, a.row + c * a.step);
    s0 = hn::MulAdd(x, hn::LoadU(d, p[0].row + c * p[0].step), s0);
    if constexpr (kCount > 1) s1 = hn::MulAdd(x, hn::LoadU(d, p[1].row + c * p[1].step), s1);
    if constexpr (kCount > 2) s2 = hn::MulAdd(x, hn::LoadU(d, p[2].row + c * p[2].step), s2);
    if constexpr (kCount > 3) s3 = hn::MulAdd(x, hn::LoadU(d, p[3].row + c * p[3].step), s3);
  }
  hn::StoreU(hn::Mul(s0, factor), d, out);
  if constexpr (kCount > 1) hn::StoreU(hn::Mul(s1, factor), d, out + out_step);
  if constexpr (kCount > 2) hn::StoreU(hn::Mul(s2, factor), d, out + 2 * out_step);
  if constexpr (kCount > 3) hn::StoreU(hn::Mul(s3, factor), d, out + 3 * out_step);
}

inline void dot_all(NarrowPartner a, const NarrowPartner* p, int64_t count, int64_t channels, float scale, float* out,
                    int64_t out_step) {
  const auto factor = hn::Set(Floats(), scale);
  int64_t s = 0;
  for (; s + 4 <= count; s += 4) dot_partners<4>(a, p + s, channels, factor, out + s * out_step, out_step);
  for (; s < count; ++s) dot_partners<1>(a, p + s, channels, factor, out + s * out_step, out_step);
}

#define FIB_EACH_SUM(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)

/// into channel c = factor · Σ_s weights [s] · partner's channel c, lane by lane, a group of channels at a time.
inline void sum_partners(const NarrowPartner* p, const float* const* weights, int64_t count, int64_t channels,
                         FloatVec factor, float* into, int64_t into_step) {
  const Floats d;
  for (int64_t g = 0; g < channels; g += kNarrowGroup) {
#define FIB_ZERO(k) auto sum##k = hn::Zero(d);
    FIB_EACH_SUM(FIB_ZERO)
#undef FIB_ZERO
    for (int64_t s = 0; s < count; ++s) {
      const auto w = hn::LoadU(d, weights[s]);
      const int64_t step = p[s].step;
      const float* row = p[s].row + g * step;
#define FIB_ADD(k) sum##k = hn::MulAdd(w, hn::LoadU(d, row + k * step), sum##k);
      FIB_EACH_SUM(FIB_ADD)
#undef FIB_ADD
    }
#define FIB_STORE(k) hn::StoreU(hn::Mul(sum##k, factor), d, into + (g + k) * into_step);
    FIB_EACH_SUM(FIB_STORE)
#undef FIB_STORE
  }
}
#undef FIB_EACH_SUM

/// into [c] = factor · Σ_t weights [t] · x [c, t] over patch tokens, whose padding weighs nothing or is zero.
inline void sum_tokens(const float* weights, Channels x, int64_t tokens, int64_t channels, float factor, float* into) {
  const Floats d;
  for (int64_t c = 0; c < channels; ++c) {
    auto even = hn::Zero(d), odd = hn::Zero(d);
    const int64_t n = lanes<float>();
    int64_t t = 0;
    for (; t + n < tokens; t += 2 * n) {
      even = hn::MulAdd(hn::LoadU(d, weights + t), hn::LoadU(d, x.at(c, t)), even);
      odd = hn::MulAdd(hn::LoadU(d, weights + t + n), hn::LoadU(d, x.at(c, t + n)), odd);
    }
    if (t < tokens) even = hn::MulAdd(hn::LoadU(d, weights + t), hn::LoadU(d, x.at(c, t)), even);
    into[c] = factor * hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
  }
}

inline float dot(const float* a, const float* b, int64_t channels) {
  float sum = 0;
  for (int64_t c = 0; c < channels; ++c) sum += a[c] * b[c];
  return sum;
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();
#endif
