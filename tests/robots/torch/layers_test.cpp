// SPDX-License-Identifier: Apache-2.0
#include "robots/torch/layers.h"

#include <gtest/gtest.h>

namespace fib::robots {
namespace {

TiledImage random_image(int64_t side) {
  return {at::randn({3, 4, 2, 2}, at::kDouble).requires_grad_(), at::randn({1, 5, side, side}, at::kDouble)};
}

/// Sides shorter than both borders, odd and even ones.
TEST(Convolution, of_a_tiled_image_is_that_of_the_whole) {
  for (const int64_t kernel : {1, 3, 5}) {
    Convolution convolution({.from = 9, .to = 6, .kernel = kernel, .dimensions = 2});
    convolution.to(at::kDouble);
    for (at::Tensor& p : convolution.parameters()) p.detach().normal_();
    for (int64_t side = 1; side <= 12; ++side) {
      const TiledImage image = random_image(side);
      const at::Tensor got = convolution.forward(image), wanted = convolution.forward(image.whole());
      const at::Tensor grad = at::randn_like(wanted);
      const auto inputs = {image.tile, convolution.weight, convolution.bias};
      const auto got_grads = torch::autograd::grad({got}, inputs, {grad});
      const auto wanted_grads = torch::autograd::grad({wanted}, inputs, {grad});
      EXPECT_TRUE(at::allclose(got, wanted, 1e-12, 1e-12)) << kernel << " " << side;
      for (size_t i = 0; i < wanted_grads.size(); ++i) {
        EXPECT_TRUE(at::allclose(got_grads[i], wanted_grads[i], 1e-10, 1e-10)) << kernel << " " << side << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace fib::robots
