// SPDX-License-Identifier: Apache-2.0
// Mish's kernel as a torch function, beside torch's own in float64.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "ops/layers.h"

namespace fib::ops {
namespace {

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b).abs().max().item<double>();
}

TEST(Mish, agrees_with_torch_and_so_does_its_gradient) {
  torch::manual_seed(1);
  const at::Tensor x = (3 * at::randn({5, 7, 33})).requires_grad_();
  const at::Tensor exact = x.detach().to(at::kDouble).requires_grad_();
  const at::Tensor grad = at::randn({7, 5, 33});  // neither argument lies in order
  ops::mish(x.transpose(0, 1)).backward(grad);
  at::mish(exact.transpose(0, 1)).backward(grad.to(at::kDouble));
  EXPECT_LT(largest_difference(ops::mish(x), at::mish(exact)), 1e-5);
  EXPECT_LT(largest_difference(x.grad(), exact.grad()), 1e-5);
}

TEST(Mish, leaves_other_types_to_torch) {
  const at::Tensor x = at::randn({9}, at::kDouble);
  EXPECT_TRUE(at::equal(ops::mish(x), at::mish(x)));
}

}  // namespace
}  // namespace fib::ops
