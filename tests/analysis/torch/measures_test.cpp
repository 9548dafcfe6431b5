// SPDX-License-Identifier: Apache-2.0
// The measures against loops that say what they mean.
#include "analysis/torch/measures.h"

#include <gtest/gtest.h>

#include <cmath>

#include "analysis/statistics.h"
#include "analysis/torch/attention_maps.h"

namespace fib::analysis {
namespace {

double frobenius(const at::Tensor& y) { return std::sqrt((y * y).sum().item<double>()); }

/// Of one sample, Y [H,T,e].
double slow_diversity(const at::Tensor& y) {
  double sum = 0;
  int pairs = 0;
  for (int64_t i = 0; i < y.size(0); ++i) {
    for (int64_t j = i + 1; j < y.size(0); ++j, ++pairs)
      sum += frobenius(y[i] - y[j]) / (frobenius(y[i]) + frobenius(y[j]));
  }
  return 100 * sum / pairs;
}

at::Tensor attention_weights(int64_t batch, int64_t heads, int64_t tokens) {
  return at::softmax(torch::randn({batch, heads, tokens, tokens}, at::kDouble), -1);
}

/// Of one sample, layers [H,T,T]: the product written out.
std::vector<std::vector<double>> slow_rollout(const std::vector<at::Tensor>& layers) {
  const int64_t T = layers[0].size(1), H = layers[0].size(0);
  const auto side = static_cast<size_t>(T);
  std::vector<std::vector<double>> result(side, std::vector<double>(side));
  for (size_t i = 0; i < side; ++i) result[i][i] = 1;
  for (const at::Tensor& layer : layers) {
    std::vector<std::vector<double>> next(side, std::vector<double>(side));
    for (int64_t q = 0; q < T; ++q) {
      for (int64_t m = 0; m < T; ++m) {
        double weight = q == m ? 0.5 : 0;
        for (int64_t h = 0; h < H; ++h) weight += 0.5 * layer[h][q][m].item<double>() / static_cast<double>(H);
        for (size_t k = 0; k < side; ++k) next[static_cast<size_t>(q)][k] += weight * result[static_cast<size_t>(m)][k];
      }
    }
    result = next;
  }
  return result;
}

TEST(HeadDiversity, is_the_mean_over_pairs_of_heads) {
  const at::Tensor y = torch::randn({3, 5, 7, 4}, at::kDouble);
  const at::Tensor fast = head_diversity(y);
  ASSERT_EQ(fast.sizes(), at::IntArrayRef({3}));
  for (int64_t b = 0; b < 3; ++b) EXPECT_NEAR(fast[b].item<double>(), slow_diversity(y[b]), 1e-10);
}

TEST(HeadDiversity, is_0_for_equal_heads_and_100_for_opposite_ones) {
  const at::Tensor head = torch::randn({1, 1, 9, 8});
  EXPECT_EQ(head_diversity(head.expand({1, 4, 9, 8})).item<double>(), 0.0);
  EXPECT_NEAR(head_diversity(at::cat({head, -head}, 1)).item<double>(), 100.0, 1e-10);
}

TEST(HeadDiversity, takes_strided_floats_and_heads_that_are_zero) {
  const at::Tensor y = torch::randn({2, 6, 3, 5}).transpose(1, 2);
  EXPECT_TRUE(at::allclose(head_diversity(y), head_diversity(y.contiguous().to(at::kDouble)), 1e-6));
  EXPECT_EQ(head_diversity(at::zeros({1, 3, 2, 2})).item<double>(), 0.0);
}

TEST(HeadDiversity, refuses_a_single_head) {
  EXPECT_THROW(head_diversity(at::zeros({1, 1, 2, 2})), std::invalid_argument);
  EXPECT_THROW(head_diversity(at::zeros({4, 2, 2})), std::invalid_argument);
}

TEST(FiveNumbers, are_those_of_numpy) {
  const FiveNumbers n = five_numbers({7, 1, 4, 2});
  EXPECT_EQ(n.min, 1);
  EXPECT_DOUBLE_EQ(n.q1, 1.75);
  EXPECT_DOUBLE_EQ(n.median, 3);
  EXPECT_DOUBLE_EQ(n.q3, 4.75);
  EXPECT_EQ(n.max, 7);
  EXPECT_DOUBLE_EQ(n.mean, 3.5);
  EXPECT_EQ(five_numbers({5}).q3, 5);
  EXPECT_THROW(five_numbers({}), std::invalid_argument);
}

TEST(Rollout, is_the_product_of_all_layers_with_their_residuals) {
  std::vector<at::Tensor> layers, first;
  for (int l = 0; l < 3; ++l) {
    layers.push_back(attention_weights(2, 4, 6));
    first.push_back(layers.back()[1]);
  }
  const at::Tensor fast = rollout(layers);
  ASSERT_EQ(fast.sizes(), at::IntArrayRef({2, 6, 6}));
  const auto slow = slow_rollout(first);
  for (int64_t q = 0; q < 6; ++q) {
    for (int64_t k = 0; k < 6; ++k) {
      EXPECT_NEAR(fast[1][q][k].item<double>(), slow[static_cast<size_t>(q)][static_cast<size_t>(k)], 1e-12);
    }
  }
  EXPECT_TRUE(at::allclose(fast.sum(-1), at::ones({2, 6}, at::kDouble)));
}

TEST(Rollout, refuses_no_layers_and_weights_that_are_no_shares) {
  EXPECT_THROW(rollout({}), std::invalid_argument);
  EXPECT_THROW(rollout({torch::ones({1, 2, 3, 4})}), std::invalid_argument);
  EXPECT_THROW(rollout({-torch::ones({1, 2, 3, 3})}), std::invalid_argument);
}

TEST(InsideAttention, looks_at_pairs_of_patches_inside_alone) {
  const at::Tensor weights = attention_weights(1, 3, 7)[0];
  const at::Tensor inside = torch::tensor({true, false, false, true, true, false});
  const std::vector<int64_t> tokens = {1, 4, 5};
  std::vector<double> all, means;
  for (int64_t q : tokens) {
    for (int64_t k : tokens) {
      double mean = 0;
      for (int64_t h = 0; h < 3; ++h) {
        all.push_back(weights[h][q][k].item<double>());
        mean += all.back() / 3;
      }
      means.push_back(mean);
    }
  }
  const auto variance = [](const std::vector<double>& values) {
    double mean = 0, sum = 0;
    for (double v : values) mean += v / static_cast<double>(values.size());
    for (double v : values) sum += (v - mean) * (v - mean) / static_cast<double>(values.size());
    return std::pair{mean, sum};
  };
  const InsideAttention fast = inside_attention(weights, inside, 1);
  EXPECT_NEAR(fast.each.mean, variance(all).first, 1e-12);
  EXPECT_NEAR(fast.each.variance, variance(all).second, 1e-12);
  EXPECT_NEAR(fast.averaged.mean, variance(means).first, 1e-12);
  EXPECT_NEAR(fast.averaged.variance, variance(means).second, 1e-12);
}

TEST(InsideAttention, of_uniform_attention_has_no_variance) {
  const InsideAttention uniform = inside_attention(at::full({2, 5, 5}, 0.2), at::ones({4}, at::kBool), 1);
  EXPECT_NEAR(uniform.each.mean, 0.2, 1e-7);
  EXPECT_NEAR(uniform.each.variance, 0, 1e-12);
}

TEST(InsideAttention, refuses_shapes_that_disagree_and_empty_regions) {
  EXPECT_THROW(inside_attention(at::zeros({2, 5, 5}), at::ones({5}, at::kBool), 1), std::invalid_argument);
  EXPECT_THROW(inside_attention(at::zeros({2, 5, 5}), at::zeros({4}, at::kBool), 1), std::invalid_argument);
}

}  // namespace
}  // namespace fib::analysis
