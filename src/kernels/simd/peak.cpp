// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/peak.cpp"
#include "kernels/simd/dispatch.h"
//

#include "kernels/peak.h"
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
  // Sums tend to 2: a result that nobody looked at would not be computed.
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
#undef FIB_EACH_SUM

const PeakTable& peak_table() {
  static constexpr PeakTable kTable{multiply_between_registers, read_values};
  return kTable;
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fib::kernels {
HWY_EXPORT(peak_table);
FIB_TABLE_OF_TARGET(PeakTable, peak_of_target, peak_table)
}  // namespace fib::kernels
#endif
