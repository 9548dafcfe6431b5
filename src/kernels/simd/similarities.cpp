// SPDX-License-Identifier: Apache-2.0
// Products of one row with many columns that lie side by side: what token merging compares keys with.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/similarities.cpp"
#include "kernels/simd/dispatch.h"
//

#include "kernels/simd/vectors-inl.h"
#include "kernels/token_reduction.h"

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

void products(const float* a, int64_t channels, const float* b, int64_t stride, int64_t count, float* out) {
  const Tag<float> tag;
  const int64_t n = lanes<float>();
  int64_t j = 0;
  for (; j + n <= count; j += n) {
    auto sum = hn::Zero(tag);
    for (int64_t c = 0; c < channels; ++c)
      sum = hn::MulAdd(hn::Set(tag, a[c]), hn::LoadU(tag, b + c * stride + j), sum);
    hn::StoreU(sum, tag, out + j);
  }
  for (; j < count; ++j) {
    out[j] = 0;
    for (int64_t c = 0; c < channels; ++c) out[j] += a[c] * b[c * stride + j];
  }
}

const SimilarityTable& similarity_table() {
  static constexpr SimilarityTable kTable{products};
  return kTable;
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fib::kernels {
HWY_EXPORT(similarity_table);
FIB_TABLE_OF_TARGET(SimilarityTable, similarities_of_target, similarity_table)
}  // namespace fib::kernels
#endif
