// SPDX-License-Identifier: Apache-2.0
// Kernel and composite path against the dense oracle, values and gradients, on one list of cases.
#include <gtest/gtest.h>

#include "ops/cases.h"
#include "ops/oracle.h"

namespace fib::ops {
namespace {

using Path = Outputs (*)(const at::Tensor&, const at::Tensor&, const at::Tensor&, const SupportPtr&,
                         const SupportAttentionOptions&);

struct Evaluation {
  at::Tensor out, lse;
  std::vector<at::Tensor> gradients;
};

/// Fresh inputs from a fixed seed, so that every path sees the same numbers.
struct Inputs {
  at::Tensor q, k, v, grad_out;
  SupportAttentionOptions options;
};

Inputs make_inputs(const Case& c, const SupportSet& set, at::ScalarType type) {
  torch::manual_seed(1);
  const int64_t heads = set.num_heads();
  const auto draw = [&](int64_t tokens, int64_t channels) {
    return torch::randn({c.batch, heads, tokens, channels}, torch::kDouble).to(type);
  };
  Inputs x;
  x.q = draw(set.query_tokens(), c.dim).set_requires_grad(true);
  x.k = draw(set.key_tokens(), c.dim).set_requires_grad(true);
  x.v = draw(set.key_tokens(), c.value_dim).set_requires_grad(true);
  x.grad_out = draw(set.query_tokens(), c.value_dim);
  x.options = c.options;
  if (x.options.bias) x.options.bias = x.options.bias->detach().to(type, false, true).set_requires_grad(true);
  return x;
}

template <class Attend>
Evaluation evaluate(const Inputs& x, Attend attend) {
  std::vector<at::Tensor> sources = {x.q, x.k, x.v};
  if (x.options.bias) sources.push_back(*x.options.bias);
  const auto [out, lse] = attend(x);
  return {out, lse, torch::autograd::grad({out}, sources, {x.grad_out})};
}

void expect_close(const at::Tensor& got, const at::Tensor& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(got.sizes(), expected.sizes()) << what;
  EXPECT_TRUE(torch::allclose(got.to(torch::kDouble), expected.to(torch::kDouble), tolerance, tolerance))
      << what << " differs by " << (got - expected).abs().max().item<double>();
}

void expect_agreement(const Case& c, Path path, at::ScalarType type, double tolerance) {
  SCOPED_TRACE(c.name);
  const SupportPtr support = make_support_ptr(c.support());
  const Inputs x = make_inputs(c, support->set(), type), exact = make_inputs(c, support->set(), torch::kDouble);
  const Evaluation got = evaluate(x, [&](const Inputs& i) { return path(i.q, i.k, i.v, support, i.options); });
  const Evaluation expected =
      evaluate(exact, [&](const Inputs& i) { return dense_oracle(i.q, i.k, i.v, support->set(), i.options); });
  expect_close(got.out, expected.out, tolerance, "output");
  expect_close(got.lse, expected.lse, tolerance, "log-sum-exp");
  for (size_t i = 0; i < got.gradients.size(); ++i) {
    expect_close(got.gradients[i], expected.gradients[i], tolerance, "gradient " + std::to_string(i));
  }
}

class Agreement : public testing::TestWithParam<Case> {};

TEST_P(Agreement, of_the_kernel_with_the_oracle) {
  expect_agreement(GetParam(), support_attention_with_lse, torch::kDouble, 1e-11);
  expect_agreement(GetParam(), support_attention_with_lse, torch::kFloat, 1e-5);
}

TEST_P(Agreement, of_the_composite_path_with_the_oracle) {
  expect_agreement(GetParam(), support_attention_composite, torch::kDouble, 1e-11);
  expect_agreement(GetParam(), support_attention_composite, torch::kFloat, 1e-5);
}

class PackedAgreement : public testing::TestWithParam<Case> {};

TEST_P(PackedAgreement, of_packed_and_separate_operands) {
  const Case& c = GetParam();
  const SupportPtr support = make_support_ptr(c.support());
  const SupportSet& set = support->set();
  const Inputs x = make_inputs(c, set, torch::kDouble);
  const at::Tensor qkv = torch::stack({x.q, x.k, x.v}, 2).detach().permute({0, 3, 2, 1, 4}).contiguous();
  const at::Tensor source = qkv.set_requires_grad(true);
  const at::Tensor grad_out = x.grad_out.transpose(1, 2).flatten(2);
  const auto [out, lse] = support_attention_packed_with_lse(source, support, x.options);
  const at::Tensor dqkv = torch::autograd::grad({out}, {source}, {grad_out})[0];
  const Evaluation apart =
      evaluate(x, [&](const Inputs& i) { return support_attention_with_lse(i.q, i.k, i.v, support, i.options); });
  expect_close(out, apart.out.transpose(1, 2).flatten(2), 1e-13, "output");
  expect_close(lse, apart.lse, 1e-13, "log-sum-exp");
  for (int64_t i = 0; i < 3; ++i) {
    expect_close(dqkv.select(2, i), apart.gradients[static_cast<size_t>(i)].transpose(1, 2), 1e-13, "gradient");
  }
  EXPECT_TRUE(dqkv.is_contiguous());
}

const auto name_of = [](const auto& c) { return c.param.name; };
INSTANTIATE_TEST_SUITE_P(Cases, Agreement, testing::ValuesIn(cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Cases, PackedAgreement, testing::ValuesIn(packed_cases()), name_of);

}  // namespace
}  // namespace fib::ops
