// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/convolution.cpp"
#include "kernels/simd/dispatch.h"
//

#include "kernels/convolution.h"
#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

/// Four lines times two vectors are eight sums, which six loads feed.
#define FIB_EACH_SUM(X) X(0, 0) X(0, 1) X(1, 0) X(1, 1) X(2, 0) X(2, 1) X(3, 0) X(3, 1)
inline constexpr int64_t kConvolvedLines = 4;

template <int kLines>
void convolve_lines(const Taps& taps, const float* HWY_RESTRICT weight, const float* bias, float* HWY_RESTRICT out,
                    int64_t stride) {
  const Tag<float> d;
  const int64_t n = lanes<float>();
#define FIB_BEGIN(k, v) auto sum##k##v = k < kLines && bias != nullptr ? hn::Set(d, bias[k]) : hn::Zero(d);
  FIB_EACH_SUM(FIB_BEGIN)
#undef FIB_BEGIN
  for (int64_t t = 0; t < taps.count; ++t) {
    const float* HWY_RESTRICT from = taps.from + taps.begin[t];
    const auto x0 = hn::LoadU(d, from), x1 = hn::LoadU(d, from + n);
#define FIB_ADD(k, v) \
  if constexpr (k < kLines) sum##k##v = hn::MulAdd(hn::Set(d, weight[k * taps.count + t]), x##v, sum##k##v);
    FIB_EACH_SUM(FIB_ADD)
#undef FIB_ADD
  }
#define FIB_STORE(k, v) \
  if constexpr (k < kLines) hn::StoreU(sum##k##v, d, out + k * stride + v * n);
  FIB_EACH_SUM(FIB_STORE)
#undef FIB_STORE
}
#undef FIB_EACH_SUM

void convolve(const Taps& all, const float* weight, const float* bias, const PixelLines& out) {
  using Function = void (*)(const Taps&, const float*, const float*, float*, int64_t);
  static constexpr Function kOfLines[] = {convolve_lines<1>, convolve_lines<2>, convolve_lines<3>, convolve_lines<4>};
  Taps taps = all;
  for (int64_t p = 0; p < out.pixels; p += 2 * lanes<float>()) {
    taps.from = all.from + p;
    for (int64_t k = 0; k < out.count; k += kConvolvedLines) {
      kOfLines[HWY_MIN(kConvolvedLines, out.count - k) - 1](taps, weight + k * taps.count,
                                                            bias == nullptr ? nullptr : bias + k,
                                                            out.first + k * out.stride + p, out.stride);
    }
  }
}

/// Four lines times three taps are twelve sums; with seven factors they do not quite fit the registers of AVX2.
#define FIB_EACH_PAIR(X) X(0, 0) X(0, 1) X(0, 2) X(1, 0) X(1, 1) X(1, 2) X(2, 0) X(2, 1) X(2, 2) X(3, 0) X(3, 1) X(3, 2)
inline constexpr int64_t kCorrelatedLines = 4, kCorrelatedTaps = 3;

template <int kLines, int kTaps>
void correlate_block(const Taps& taps, int64_t first, const PixelLines& grad, float* HWY_RESTRICT sums) {
  const Tag<float> d;
  const int64_t n = lanes<float>(), line = taps.count * n;
  const auto tap = [&](int64_t t) FIB_INLINE_LAMBDA { return taps.from + taps.begin[first + HWY_MIN(t, kTaps - 1)]; };
  const float *HWY_RESTRICT from0 = tap(0), *HWY_RESTRICT from1 = tap(1), *HWY_RESTRICT from2 = tap(2);
  const float* HWY_RESTRICT lines = grad.first;
#define FIB_BEGIN(k, t)         \
  auto sum##k##t = hn::Zero(d); \
  if constexpr (k < kLines && t < kTaps) sum##k##t = hn::LoadU(d, sums + k * line + t * n);
  FIB_EACH_PAIR(FIB_BEGIN)
#undef FIB_BEGIN
  for (int64_t p = 0; p < grad.pixels; p += n) {
    const auto x0 = hn::LoadU(d, from0 + p), x1 = hn::LoadU(d, from1 + p), x2 = hn::LoadU(d, from2 + p);
#define FIB_ADD(k, t)                    \
  if constexpr (k < kLines && t < kTaps) \
    sum##k##t = hn::MulAdd(hn::LoadU(d, lines + k * grad.stride + p), x##t, sum##k##t);
    FIB_EACH_PAIR(FIB_ADD)
#undef FIB_ADD
  }
#define FIB_STORE(k, t) \
  if constexpr (k < kLines && t < kTaps) hn::StoreU(sum##k##t, d, sums + k * line + t * n);
  FIB_EACH_PAIR(FIB_STORE)
#undef FIB_STORE
}
#undef FIB_EACH_PAIR

template <int kLines>
void correlate_lines(const Taps& taps, const PixelLines& grad, float* sums) {
  const int64_t n = lanes<float>();
  int64_t t = 0;
  for (; t + kCorrelatedTaps <= taps.count; t += kCorrelatedTaps)
    correlate_block<kLines, 3>(taps, t, grad, sums + t * n);
  if (taps.count - t == 2) correlate_block<kLines, 2>(taps, t, grad, sums + t * n);
  if (taps.count - t == 1) correlate_block<kLines, 1>(taps, t, grad, sums + t * n);
}

void correlate(const Taps& taps, const PixelLines& grad, float* sums) {
  using Function = void (*)(const Taps&, const PixelLines&, float*);
  static constexpr Function kOfLines[] = {correlate_lines<1>, correlate_lines<2>, correlate_lines<3>,
                                          correlate_lines<4>};
  PixelLines some = grad;
  for (int64_t k = 0; k < grad.count; k += kCorrelatedLines) {
    some.first = grad.first + k * grad.stride;
    kOfLines[HWY_MIN(kCorrelatedLines, grad.count - k) - 1](taps, some, sums + k * taps.count * lanes<float>());
  }
}

const ConvolutionTable& convolution_table() {
  static const ConvolutionTable table{2 * lanes<float>(), lanes<float>(), convolve, correlate};
  return table;
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fib::kernels {
HWY_EXPORT(convolution_table);
FIB_TABLE_OF_TARGET(ConvolutionTable, convolution_of_target, convolution_table)
}  // namespace fib::kernels
#endif
