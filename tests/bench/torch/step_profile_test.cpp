// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>

#include "bench/torch/model_bench.h"

namespace fib::bench {
namespace {

TEST(StepProfile, knows_the_kinds_of_operators_and_of_their_gradients) {
  EXPECT_EQ(kind_of_operator("aten::linear"), "linear");
  EXPECT_EQ(kind_of_operator("AddmmBackward0"), "linear");
  EXPECT_EQ(kind_of_operator("aten::layer_norm"), "norm");
  EXPECT_EQ(kind_of_operator("GeluBackward0"), "activation");
  EXPECT_EQ(kind_of_operator("fibottention::support_attention"), "attention");
  EXPECT_EQ(kind_of_operator("AddBackward0"), "sums and factors");
  EXPECT_EQ(kind_of_operator("aten::bernoulli_"), "other");
}

TEST(StepProfile, times_forward_and_backward_of_a_kind_and_the_optimizer) {
  const at::Tensor x = at::randn({64, 96}), w = at::randn({96, 96}).requires_grad_();
  int updates = 0;
  const StepProfile profile = profile_steps(
      2, [&] { at::gelu(at::linear(x, w)).sum().backward(); }, [&] { ++updates; });
  const auto linear =
      std::find_if(profile.kinds.begin(), profile.kinds.end(), [](const KindTime& k) { return k.kind == "linear"; });
  ASSERT_NE(linear, profile.kinds.end());
  EXPECT_GT(linear->forward_ms, 0.0);
  EXPECT_GT(linear->backward_ms, 0.0);
  EXPECT_GE(profile.between_ms, 0.0);
  EXPECT_EQ(updates, 2);
}

}  // namespace
}  // namespace fib::bench
