// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/peak.cpp"
#include "kernels/simd/dispatch.h"
//

#include "kernels/extensions.h"
#include "kernels/machine.h"
#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

/// Twelve sums: more than any processor's latency times its multiply-adds a cycle.
#define FIB_EACH_SUM(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define FIB_GATHER(k) all = hn::Add(all, sum##k);

int64_t multiply_between_registers(int64_t rounds) {
  const Tag<float> d;
  const auto factor = hn::Set(d, 0.5f), one = hn::Set(d, 1.0f);
#define FIB_BEGIN(k) auto sum##k = hn::Set(d, static_cast<float>(k));
  FIB_EACH_SUM(FIB_BEGIN)
#undef FIB_BEGIN
  for (int64_t i = 0; i < rounds; ++i) {
#define FIB_ADD(k) sum##k = hn::MulAdd(sum##k, factor, one);
    FIB_EACH_SUM(FIB_ADD)
#undef FIB_ADD
  }
  auto all = hn::Zero(d);
  FIB_EACH_SUM(FIB_GATHER)
  // Sums tend to 2: a result that is not used would not be computed.
  return hn::GetLane(all) > 0.0f ? 12 * rounds * lanes<float>() : 0;
}

/// Twelve sums here too: four would wait for each other and not for the caches.
float read_values(const float* values, int64_t count, int64_t rounds) {
  const Tag<float> d;
  const int64_t n = lanes<float>();
#define FIB_BEGIN(k) auto sum##k = hn::Zero(d);
  FIB_EACH_SUM(FIB_BEGIN)
#undef FIB_BEGIN
  for (int64_t round = 0; round < rounds; ++round) {
    for (int64_t i = 0; i < count; i += 12 * n) {
#define FIB_ADD(k) sum##k = hn::Add(sum##k, hn::Load(d, values + i + k * n));
      FIB_EACH_SUM(FIB_ADD)
#undef FIB_ADD
    }
  }
  auto all = hn::Zero(d);
  FIB_EACH_SUM(FIB_GATHER)
  return hn::GetLane(hn::SumOfLanes(d, all));
}
#undef FIB_GATHER

// Instructions for low precision, on zeros, which take as long. They are volatile, for nothing reads their sums.
#define FIB_BEGIN(k) auto sum##k = hn::Zero(Tag<int32_t>());
#define FIB_LOOP_OF(add, products)            \
  const auto zero = hn::Zero(Tag<int32_t>()); \
  FIB_EACH_SUM(FIB_BEGIN)                     \
  for (int64_t i = 0; i < rounds; ++i) {      \
    FIB_EACH_SUM(add)                         \
  }                                           \
  return 12 * rounds * (products) * static_cast<int64_t>(hn::Lanes(Tag<int32_t>()))

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
#if HWY_TARGET <= HWY_AVX3
#define FIB_ADD_BYTES(k) asm volatile("vpdpbusd %1, %1, %0" : "+v"(sum##k.raw) : "v"(zero.raw));
#define FIB_ADD_WORDS(k)                                                              \
  sum##k.raw = _mm512_add_epi32(sum##k.raw, _mm512_madd_epi16(sum##k.raw, zero.raw)); \
  asm volatile("" : "+v"(sum##k.raw));
#else
#define FIB_ADD_BYTES(k) asm volatile("%{vex%} vpdpbusd %1, %1, %0" : "+x"(sum##k.raw) : "x"(zero.raw));
#define FIB_ADD_WORDS(k)                                                              \
  sum##k.raw = _mm256_add_epi32(sum##k.raw, _mm256_madd_epi16(sum##k.raw, zero.raw)); \
  asm volatile("" : "+x"(sum##k.raw));
#endif
int64_t multiply_bytes(int64_t rounds) { FIB_LOOP_OF(FIB_ADD_BYTES, 4); }
int64_t multiply_words(int64_t rounds) { FIB_LOOP_OF(FIB_ADD_WORDS, 2); }
#define FIB_PEAK_BYTES \
  { HWY_TARGET <= HWY_AVX3 ? kAvx512Vnni : kAvxVnni, multiply_bytes }
#elif defined(__aarch64__) && HWY_TARGET == HWY_NEON
#define FIB_ADD_BYTES(k) asm volatile(FIB_ARM_ARCH "sdot %0.4s, %1.16b, %1.16b" : "+w"(sum##k.raw) : "w"(zero.raw));
int64_t multiply_bytes(int64_t rounds) { FIB_LOOP_OF(FIB_ADD_BYTES, 4); }
#define FIB_PEAK_BYTES \
  { kDotProduct, multiply_bytes }
#define FIB_ADD_MATRIX_BYTES(k) \
  asm volatile(FIB_ARM_ARCH "smmla %0.4s, %1.16b, %1.16b" : "+w"(sum##k.raw) : "w"(zero.raw));
#define FIB_ADD_MATRIX_BF16(k) \
  asm volatile(FIB_ARM_ARCH "bfmmla %0.4s, %1.8h, %1.8h" : "+w"(sum##k.raw) : "w"(zero.raw));
int64_t multiply_matrix_bytes(int64_t rounds) { FIB_LOOP_OF(FIB_ADD_MATRIX_BYTES, 8); }
int64_t multiply_matrix_bfloat16(int64_t rounds) { FIB_LOOP_OF(FIB_ADD_MATRIX_BF16, 4); }
#undef FIB_ADD_MATRIX_BYTES
#undef FIB_ADD_MATRIX_BF16
#define FIB_PEAK_MATRIX_BYTES \
  { kI8mm, multiply_matrix_bytes }
#define FIB_PEAK_MATRIX_BF16 \
  { kBf16Matrix, multiply_matrix_bfloat16 }
#define multiply_words multiply_between_registers
#else
#define FIB_PEAK_BYTES \
  { 0, nullptr }
#define multiply_words multiply_between_registers
#endif

#if defined(__x86_64__) && HWY_TARGET <= HWY_AVX3
#define FIB_ADD_PAIRS(k) asm volatile("vdpbf16ps %1, %1, %0" : "+v"(sum##k.raw) : "v"(zero.raw));
int64_t multiply_pairs(int64_t rounds) { FIB_LOOP_OF(FIB_ADD_PAIRS, 2); }

/// Four products of full tiles a round.
template <bool kBytes>
int64_t multiply_tiles(int64_t rounds) {
  struct alignas(64) {
    uint8_t palette = 1, start = 0, reserved[14] = {};
    uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } config;
  asm volatile("ldtilecfg %0" ::"m"(config));
  for (int64_t i = 0; i < rounds; ++i) {
    if constexpr (kBytes) {
      asm volatile("tdpbusd %tmm6, %tmm4, %tmm0\n\ttdpbusd %tmm7, %tmm4, %tmm1");
      asm volatile("tdpbusd %tmm6, %tmm5, %tmm2\n\ttdpbusd %tmm7, %tmm5, %tmm3");
    } else {
      asm volatile("tdpbf16ps %tmm6, %tmm4, %tmm0\n\ttdpbf16ps %tmm7, %tmm4, %tmm1");
      asm volatile("tdpbf16ps %tmm6, %tmm5, %tmm2\n\ttdpbf16ps %tmm7, %tmm5, %tmm3");
    }
  }
  asm volatile("tilerelease");
  return rounds * 4 * 16 * 16 * (kBytes ? 64 : 32);
}
#define FIB_PEAK_MATRIX_BYTES \
  { kAmxInt8, multiply_tiles<true> }
#define FIB_PEAK_MATRIX_BF16 \
  { kAmxBf16, multiply_tiles<false> }
#define FIB_PEAK_PAIRS \
  { kAvx512Bf16, multiply_pairs }
#else
#define FIB_PEAK_PAIRS \
  { 0, nullptr }
#endif
#ifndef FIB_PEAK_MATRIX_BYTES
#define FIB_PEAK_MATRIX_BYTES \
  { 0, nullptr }
#define FIB_PEAK_MATRIX_BF16 \
  { 0, nullptr }
#endif

const PeakTable& peak_table() {
  static constexpr PeakTable kTable{multiply_between_registers,
                                    read_values,
                                    {FIB_PEAK_MATRIX_BF16, FIB_PEAK_PAIRS, {0, multiply_between_registers}},
                                    {FIB_PEAK_MATRIX_BYTES, FIB_PEAK_BYTES, {0, multiply_words}}};
  return kTable;
}
#undef multiply_words
#undef FIB_ADD_BYTES
#undef FIB_ADD_WORDS
#undef FIB_ADD_PAIRS
#undef FIB_BEGIN
#undef FIB_LOOP_OF
#undef FIB_PEAK_BYTES
#undef FIB_PEAK_MATRIX_BYTES
#undef FIB_PEAK_MATRIX_BF16
#undef FIB_PEAK_PAIRS
#undef FIB_EACH_SUM

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fib::kernels {
HWY_EXPORT(peak_table);
FIB_TABLE_OF_TARGET(PeakTable, peak_of_target, peak_table)
}  // namespace fib::kernels
#endif
