// SPDX-License-Identifier: Apache-2.0
#include "kernels/dense_mask.h"

#include <gtest/gtest.h>

#include <limits>

#include "oracle/attention_cases.h"

namespace fib::test {
namespace {

AttentionCase crowded(int64_t cls, bool causal) {
  AttentionCase c{.heads = 3, .patches = 40, .cls = cls, .dim = 64, .value_dim = 64, .support = SupportKind::crowded};
  c.causal = causal;
  return c;
}

TEST(DenseMask, allows_the_pairs_of_the_support_and_no_others) {
  for (const int64_t cls : {0, 2}) {
    for (const bool causal : {false, true}) {
      const SupportSet support = crowded(cls, causal).make_support();
      const auto masked = kernels::make_masked(support, AttentionOptions<float>{});
      const float* value = masked.options.bias.data;
      for (int64_t h = 0; h < support.num_heads(); ++h)
        for (int32_t q = 0; q < support.query_tokens(); ++q)
          for (int32_t k = 0; k < support.key_tokens(); ++k, ++value)
            ASSERT_EQ(*value, support.contains(h, {q, k}) ? 0.0f : -std::numeric_limits<float>::infinity())
                << "cls " << cls << ", causal " << causal << ", head " << h << ", query " << q << ", key " << k;
    }
  }
}

TEST(DenseMask, is_for_many_explicit_pairs_without_bias_or_masking_zero) {
  const AttentionCase many = crowded(1, false);
  AttentionCase few = many, offsets = many;
  few.support = SupportKind::bigbird, few.patches = 150;
  offsets.support = SupportKind::full;
  const auto faster = [](const AttentionCase& c, const AttentionOptions<float>& options = {}) {
    return kernels::dense_is_faster(c.make_support(), c.shape(), options);
  };
  EXPECT_TRUE(faster(many));
  EXPECT_FALSE(faster(few));
  EXPECT_FALSE(faster(offsets));
  const float bias = 0.0f;
  AttentionOptions<float> biased, zero;
  biased.bias.data = &bias;
  zero.masking = Masking::zero;
  EXPECT_FALSE(faster(many, biased));
  EXPECT_FALSE(faster(many, zero));
}

}  // namespace
}  // namespace fib::test
