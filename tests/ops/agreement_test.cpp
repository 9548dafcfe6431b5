// SPDX-License-Identifier: Apache-2.0
// The operator, its packed form and its composite path against the oracle, values and gradients, on the common cases.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "ops/tensors.h"
#include "oracle/case_run.h"

namespace fib::ops {
namespace {

using test::AttentionCase;
using test::CaseResults;
using test::Layout;
using test::OracleProblem;

/// A [B,H,T,channels] of these values that lies in memory as the layout says. LibTorch has no negative strides, so
/// reversed is head_major here.
at::Tensor laid_out(const std::vector<double>& values, at::IntArrayRef sizes, Layout layout, at::ScalarType type) {
  const at::Tensor x = at::tensor(values, at::kDouble).view(sizes).to(type);
  if (layout == Layout::token_major || layout == Layout::packed) return x.transpose(1, 2).contiguous().transpose(1, 2);
  if (layout == Layout::padded) return at::constant_pad_nd(x, {0, 3}).narrow(3, 0, sizes[3]);
  return x;
}

/// A case as the operator sees it.
struct TensorProblem {
  Operands x;
  at::Tensor grad_out;
  Arguments options;

  TensorProblem(const AttentionCase& c, const OracleProblem& p, const std::vector<double>& grad, at::ScalarType type) {
    options.pairs.support = make_support_ptr(*p.support);
    const AttentionShape& s = p.shape;
    const auto tensor = [&](const std::vector<double>& values, int64_t tokens, int64_t channels) {
      return laid_out(values, {s.batch, s.heads, tokens, channels}, c.layout, type);
    };
    x = {tensor(p.q, s.query_tokens, s.dim), tensor(p.k, s.key_tokens, s.dim), tensor(p.v, s.key_tokens, s.value_dim)};
    grad_out = tensor(grad, s.query_tokens, s.value_dim);
    if (p.scale) options.scale = *p.scale;
    options.masking = p.masking;
    options.dropout = c.dropout;
    options.seed = at::scalar_tensor(static_cast<int64_t>(test::kDropoutSeed), at::kLong);
    if (!p.lengths.empty()) options.lengths = at::tensor(p.lengths, at::kLong);
    if (p.bias.empty()) return;
    const at::Tensor bias = at::tensor(p.bias, at::kDouble).to(type);
    options.bias = bias.view({p.bias_groups, p.bias_per_head ? s.heads : 1, s.query_tokens, s.key_tokens});
    options.bias->set_requires_grad(true);
  }
};

std::vector<double> numbers(const at::Tensor& x) {
  const at::Tensor wide = x.detach().to(at::kDouble).contiguous();
  return {wide.data_ptr<double>(), wide.data_ptr<double>() + wide.numel()};
}

/// The gradients of `sources`, and of the bias where there is one.
std::vector<at::Tensor> gradients(const at::Tensor& out, const at::Tensor& grad_out, std::vector<at::Tensor> sources,
                                  const OptionalTensor& bias) {
  if (bias) sources.push_back(*bias);
  std::vector<at::Tensor> found = torch::autograd::grad({out}, sources, {grad_out});
  if (!bias) found.push_back(at::empty({0}));
  return found;
}

using Path = Outputs (*)(at::TensorList, const Arguments&);

template <Path attend>
CaseResults apart(const TensorProblem& p) {
  std::vector<at::Tensor> sources = {p.x.q, p.x.k, p.x.v};
  for (at::Tensor& source : sources) source = source.detach().set_requires_grad(true);
  const auto [out, lse] = attend(sources, p.options);
  const auto g = gradients(out, p.grad_out, sources, p.options.bias);
  return {numbers(out), numbers(lse), numbers(g[0]), numbers(g[1]), numbers(g[2]), numbers(g[3])};
}

CaseResults packed(const TensorProblem& p) {
  const at::Tensor stacked = at::stack({p.x.q, p.x.k, p.x.v}, 2).permute({0, 3, 2, 1, 4}).contiguous();
  const at::Tensor qkv = stacked.set_requires_grad(true);
  const auto [out, lse] = attention_with_lse({qkv}, p.options);
  const auto g = gradients(out, merged_heads(p.grad_out), {qkv}, p.options.bias);
  EXPECT_TRUE(g[0].is_contiguous());
  const Operands d = unpacked(g[0]);
  return {
      numbers(split_heads(out, p.x.q.size(1))), numbers(lse), numbers(d.q), numbers(d.k), numbers(d.v), numbers(g[1])};
}

template <class T>
void expect_agreement(CaseResults (*attend)(const TensorProblem&), const AttentionCase& c, double slack) {
  const SupportSet support = c.make_support();
  const OracleProblem p = test::make_problem(c, support);
  const std::vector<double> grad_out = test::make_grad_out(p.shape);
  const auto tolerance = test::kTolerance<T>;
  test::expect_results(attend(TensorProblem(c, p, grad_out, c10::CppTypeToScalarType<T>::value)),
                       test::oracle_results(p, grad_out), test::max_abs(p.v),
                       {slack * tolerance.forward, slack * tolerance.gradient});
}

void expect_agreement(CaseResults (*attend)(const TensorProblem&), const AttentionCase& c, double slack = 1.0) {
  expect_agreement<float>(attend, c, slack);
  expect_agreement<double>(attend, c, slack);
}

/// LibTorch's operations cost microseconds each, and the composite path has some for every offset.
std::vector<AttentionCase> small_cases() {
  std::vector<AttentionCase> cases = test::attention_cases();
  std::erase_if(cases, [](const AttentionCase& c) { return c.patches > 75; });
  return cases;
}

/// Those whose q, k and v can be one tensor.
std::vector<AttentionCase> packed_cases() {
  std::vector<AttentionCase> cases = test::attention_cases();
  std::erase_if(cases, [](const AttentionCase& c) {
    return c.shape().query_tokens != c.shape().key_tokens || c.dim != c.value_dim;
  });
  return cases;
}

class Operator : public testing::TestWithParam<AttentionCase> {};
TEST_P(Operator, agrees_with_the_oracle) { expect_agreement(apart<attention_with_lse>, GetParam()); }
INSTANTIATE_TEST_SUITE_P(Attention, Operator, testing::ValuesIn(test::attention_cases()), test::case_name);

class Packed : public testing::TestWithParam<AttentionCase> {};
TEST_P(Packed, agrees_with_the_oracle) { expect_agreement(packed, GetParam()); }
INSTANTIATE_TEST_SUITE_P(Attention, Packed, testing::ValuesIn(packed_cases()), test::case_name);

/// It sums one offset after another into float, where the kernel sums in registers.
class Composite : public testing::TestWithParam<AttentionCase> {};
TEST_P(Composite, agrees_with_the_oracle) { expect_agreement(apart<composite_attention>, GetParam(), /*slack=*/4.0); }
INSTANTIATE_TEST_SUITE_P(Attention, Composite, testing::ValuesIn(small_cases()), test::case_name);

}  // namespace
}  // namespace fib::ops
