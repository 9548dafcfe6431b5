// SPDX-License-Identifier: Apache-2.0
#include "sequences/torch/causal.h"

#include <gtest/gtest.h>

#include "oracle/attention_oracle.h"

namespace fib::sequences {
namespace {

constexpr int64_t kHeads = 2, kDim = 8;

/// [1,T,3,H,d] -> [H,T,d] of q, k or v.
std::vector<double> part(const at::Tensor& qkv, int64_t which) {
  const at::Tensor x = qkv[0].select(1, which).transpose(0, 1).contiguous();
  return {x.data_ptr<double>(), x.data_ptr<double>() + x.numel()};
}

/// [H,T,d] -> [1,T,H·d].
at::Tensor merged(const std::vector<double>& values, int64_t tokens) {
  return at::tensor(at::ArrayRef<double>(values), at::kDouble)
      .view({kHeads, tokens, kDim})
      .transpose(0, 1)
      .reshape({1, tokens, kHeads * kDim});
}

double distance(const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().max().item<double>(); }

/// Forward and gradients, in float64 and float32, against rows of scalars.
void expect_oracle(const std::string& name, int64_t tokens) {
  CausalAttention causal(causal_layer(AttentionSpec::parse(name), {.heads = kHeads, .context = 64}), 0.35);
  const at::Tensor qkv = at::randn({1, tokens, 3, kHeads, kDim}, at::kDouble).requires_grad_();
  const SupportSet support = causal.layer().support(tokens);
  test::OracleProblem problem{.support = &support, .shape = {1, kHeads, tokens, tokens, kDim, kDim}};
  problem.q = part(qkv, 0), problem.k = part(qkv, 1), problem.v = part(qkv, 2);
  problem.scale = 0.35;
  const at::Tensor out = causal.forward(qkv);
  EXPECT_LT(distance(out, merged(test::oracle_forward(problem).out, tokens)), 1e-12) << name << ", " << tokens;

  const at::Tensor arrived = at::randn_like(out);
  out.backward(arrived);
  const at::Tensor by_head = arrived.view({tokens, kHeads, kDim}).transpose(0, 1).contiguous();
  const test::OracleGradients expected =
      test::oracle_backward(problem, {by_head.data_ptr<double>(), by_head.data_ptr<double>() + by_head.numel()});
  const std::vector<double>* gradients[] = {&expected.dq, &expected.dk, &expected.dv};
  for (int64_t i = 0; i < 3; ++i) {
    const at::Tensor own = qkv.grad().select(2, i).flatten(2);  // [1,T,H·d]
    EXPECT_LT(distance(own, merged(*gradients[i], tokens)), 1e-11) << name << ", " << tokens << ", input " << i;
  }
  const at::Tensor single = causal.forward(qkv.detach().to(at::kFloat));
  EXPECT_LT(distance(single, out.detach()), 1e-5) << name << ", " << tokens;
}

TEST(CausalAttention, equals_the_oracle_at_all_lengths_from_1_to_300_with_gradients) {
  torch::manual_seed(1);
  for (int64_t tokens = 1; tokens <= 300; ++tokens)
    for (const char* name : {"full", "fibottention:local=2", "fibottention-modified", "local", "sparse-transformer"})
      expect_oracle(name, tokens);
}

}  // namespace
}  // namespace fib::sequences
