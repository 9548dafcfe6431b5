// SPDX-License-Identifier: Apache-2.0
// The linear layers' kernel as a torch function, beside torch's own operations in float64.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "ops/layers.h"

namespace fib::ops {
namespace {

struct Layer {
  at::Tensor x, weight, bias;
  Layer to(at::ScalarType type) const {
    const auto leaf = [&](const at::Tensor& t) {
      return t.defined() ? t.detach().to(type).requires_grad_(t.requires_grad()) : t;
    };
    return {leaf(x), leaf(weight), leaf(bias)};
  }
};

Layer random_layer(at::IntArrayRef sizes, int64_t to, bool bias = true) {
  torch::manual_seed(1);
  const int64_t from = sizes.back();
  return {at::randn(sizes).requires_grad_(), at::randn({to, from}).requires_grad_(),
          bias ? at::randn({to}).requires_grad_() : at::Tensor()};
}

double difference(const at::Tensor& a, const at::Tensor& b) {
  return ((a.to(at::kDouble) - b).abs().max() / b.abs().max()).item<double>();
}

/// Results and gradients of both, the second in float64 by torch.
void expect_agreement(const Layer& layer, bool gelu) {
  const Layer exact = layer.to(at::kDouble);
  const at::Tensor out =
      gelu ? linear_gelu(layer.x, layer.weight, layer.bias) : linear(layer.x, layer.weight, layer.bias);
  const at::Tensor plain = at::linear(exact.x, exact.weight, exact.bias), wanted = gelu ? at::gelu(plain) : plain;
  ASSERT_EQ(out.sizes(), wanted.sizes());
  EXPECT_LT(difference(out, wanted), 1e-6);
  const at::Tensor grad = at::randn_like(out);
  out.backward(grad);
  wanted.backward(grad.to(at::kDouble));
  const auto expect_gradient = [](const at::Tensor& got, const at::Tensor& should) {
    if (!got.defined() || !got.requires_grad()) return;
    EXPECT_LT(difference(got.grad(), should.grad()), 1e-6);
  };
  expect_gradient(layer.x, exact.x);
  expect_gradient(layer.weight, exact.weight);
  expect_gradient(layer.bias, exact.bias);
}

TEST(LinearLayer, agrees_with_torch_and_so_do_its_gradients) {
  for (const bool gelu : {false, true}) {
    expect_agreement(random_layer({3, 101, 96}, 288), gelu);
    expect_agreement(random_layer({300, 96}, 32, false), gelu);
    expect_agreement(random_layer({4, 7, 96}, 10), gelu);  // too small for the kernel: torch's way
  }
}

TEST(LinearLayer, takes_rows_that_do_not_lie_together) {
  Layer layer = random_layer({96, 300}, 64);
  layer.weight = at::randn({64, 96}).requires_grad_();
  const at::Tensor rows = layer.x.t();
  const at::Tensor out = linear(rows, layer.weight, layer.bias);
  EXPECT_LT(difference(out, at::linear(rows, layer.weight, layer.bias).to(at::kDouble)), 1e-5);
  out.sum().backward();
  EXPECT_EQ(layer.x.grad().sizes(), layer.x.sizes());
}

TEST(LinearLayer, gives_frozen_parameters_no_gradient) {
  Layer layer = random_layer({300, 96}, 96);
  layer.weight.requires_grad_(false);
  layer.bias.requires_grad_(false);
  linear_gelu(layer.x, layer.weight, layer.bias).sum().backward();
  EXPECT_TRUE(layer.x.grad().defined());
  EXPECT_FALSE(layer.weight.grad().defined());
}

TEST(LinearLayer, leaves_other_types_and_wrong_shapes_to_torch) {
  const Layer layer = random_layer({300, 96}, 96).to(at::kDouble);
  EXPECT_EQ(linear(layer.x, layer.weight, layer.bias).scalar_type(), at::kDouble);
  EXPECT_THROW(linear(at::randn({300, 95}), at::randn({96, 96}), at::Tensor()), c10::Error);
}

/// The output of a layer and its gradients.
std::vector<at::Tensor> trained(const Layer& given, bool bfloat16) {
  const Layer layer = given.to(at::kFloat);
  at::Tensor out;
  {
    const Bfloat16Products products(bfloat16);
    EXPECT_EQ(has_bfloat16_products(), bfloat16);
    out = linear_gelu(layer.x, layer.weight, layer.bias);
  }
  EXPECT_FALSE(has_bfloat16_products());
  out.backward(at::ones_like(out));  // behind the scope, as a step's backward is
  return {out, layer.x.grad(), layer.weight.grad(), layer.bias.grad()};
}

TEST(Bfloat16Products, are_near_float32_both_ways_and_no_bit_depends_on_threads) {
  const Layer layer = random_layer({3, 101, 96}, 288);
  const std::vector<at::Tensor> exact = trained(layer, false), narrow = trained(layer, true);
  const int before = at::get_num_threads();
  at::set_num_threads(before == 1 ? 2 : 1);
  const std::vector<at::Tensor> again = trained(layer, true);
  at::set_num_threads(before);
  for (size_t i = 0; i < narrow.size(); ++i) {
    EXPECT_EQ(narrow[i].scalar_type(), at::kFloat);
    EXPECT_TRUE(at::equal(again[i], narrow[i]));
    const double off = difference(narrow[i], exact[i].to(at::kDouble));
    EXPECT_GT(off, 1e-6);
    EXPECT_LT(off, 1e-2);
  }
}

}  // namespace
}  // namespace fib::ops
