// SPDX-License-Identifier: Apache-2.0
// Convolutions of few channels as torch functions, beside torch's own in float64.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "ops/layers.h"

namespace fib::ops {
namespace {

using ConvolutionOf = at::Tensor (*)(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);
struct ConvolutionArguments {
  at::Tensor x, weight, bias;
};

double relative_error(const at::Tensor& a, const at::Tensor& b) {
  return ((a.to(at::kDouble) - b).abs().max() / b.abs().max()).item<double>();
}

at::Tensor exact_leaf(const at::Tensor& t) { return t.detach().to(at::kDouble).requires_grad_(); }

/// In float32, and in float64 by torch's operator.
void expect_agreement(ConvolutionOf ours, ConvolutionOf torchs, const ConvolutionArguments& a) {
  const ConvolutionArguments exact{exact_leaf(a.x), exact_leaf(a.weight), exact_leaf(a.bias)};
  const at::Tensor out = ours(a.x, a.weight, a.bias), wanted = torchs(exact.x, exact.weight, exact.bias);
  ASSERT_EQ(out.sizes(), wanted.sizes());
  EXPECT_LT(relative_error(out, wanted), 1e-6);
  const at::Tensor grad = at::randn(out.sizes()).transpose(2, 3).contiguous().transpose(2, 3);
  const auto got_grads = torch::autograd::grad({out}, {a.x, a.weight, a.bias}, {grad});
  const auto wanted_grads =
      torch::autograd::grad({wanted}, {exact.x, exact.weight, exact.bias}, {grad.to(at::kDouble)});
  for (size_t i = 0; i < wanted_grads.size(); ++i) EXPECT_LT(relative_error(got_grads[i], wanted_grads[i]), 2e-6) << i;
}

at::Tensor leaf(at::IntArrayRef sizes) { return at::randn(sizes).requires_grad_(); }

at::Tensor same_size(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return at::conv2d(x, weight, bias, 1, weight.size(2) / 2);
}
at::Tensor double_size(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return at::conv_transpose2d(x, weight, bias, 2, 1);
}

TEST(FewChannels, are_convolved_as_torch_does_it) {
  torch::manual_seed(1);
  expect_agreement(convolution, same_size, {leaf({10, 8, 21, 20}), leaf({8, 8, 3, 3}), leaf({8})});
  expect_agreement(convolution, same_size, {leaf({3, 8, 11, 12}), leaf({3, 8, 1, 1}), leaf({3})});
  expect_agreement(convolution, same_size, {leaf({3, 40, 6, 6}), leaf({4, 40, 3, 3}), leaf({4})});  // torch's
}

TEST(FewChannels, are_doubled_as_torch_does_it) {
  torch::manual_seed(1);
  expect_agreement(doubling_convolution, double_size, {leaf({3, 8, 7, 9}), leaf({8, 5, 4, 4}), leaf({5})});
  expect_agreement(doubling_convolution, double_size, {leaf({2, 40, 3, 3}), leaf({40, 4, 4, 4}), leaf({4})});
}

TEST(FewChannels, may_have_frozen_weights_and_no_bias) {
  const at::Tensor x = leaf({2, 4, 6, 6}), weight = at::randn({4, 4, 3, 3});
  const at::Tensor out = convolution(x, weight, {});
  EXPECT_LT(relative_error(out, at::conv2d(x, weight, {}, 1, 1).to(at::kDouble)), 1e-6);
  out.sum().backward();
  EXPECT_EQ(x.grad().sizes(), x.sizes());
}

TEST(FewChannels, leave_other_types_to_torch) {
  const at::Tensor x = at::randn({2, 4, 6, 6}, at::kDouble), weight = at::randn({4, 4, 3, 3}, at::kDouble);
  EXPECT_TRUE(at::equal(convolution(x, weight, {}), at::conv2d(x, weight, {}, 1, 1)));
}

}  // namespace
}  // namespace fib::ops
