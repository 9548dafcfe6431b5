// SPDX-License-Identifier: Apache-2.0
// Products against sums in float64, for shapes that fill register tiles, panels and blocks of depth, and that do not.
#include "engine/product.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "engine/rows.h"
#include "fibottention/attention.h"

namespace fib::engine {
namespace {

std::vector<float> noise(int64_t count, uint32_t seed, float scale = 1.0f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, scale);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) v = normal(random);
  return values;
}

double exact_gelu(double x) { return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0))); }

/// A linear layer on noise, and what it should give.
struct LinearCase {
  ProductShape shape;
  std::vector<float> x, weights, bias, residual;

  explicit LinearCase(const ProductShape& s)
      : shape(s),
        x(noise(s.rows * s.depth, 1)),
        weights(noise(s.columns * s.depth, 2, 1.0f / std::sqrt(static_cast<float>(s.depth)))),
        bias(noise(s.columns, 3)),
        residual(noise(s.rows * s.columns, 4)) {}

  std::vector<double> expected() const {
    std::vector<double> out;
    out.reserve(residual.size());
    for (int64_t i = 0; i < shape.rows; ++i) {
      for (int64_t n = 0; n < shape.columns; ++n) {
        double sum = bias[static_cast<size_t>(n)];
        for (int64_t k = 0; k < shape.depth; ++k)
          sum += static_cast<double>(x[static_cast<size_t>(i * shape.depth + k)]) *
                 static_cast<double>(weights[static_cast<size_t>(n * shape.depth + k)]);
        out.push_back(exact_gelu(sum) + static_cast<double>(residual[static_cast<size_t>(i * shape.columns + n)]));
      }
    }
    return out;
  }
};

template <class AnyProduct>
std::vector<float> finish_and_run(AnyProduct product, const LinearCase& c) {
  std::vector<float> out(c.residual.size(), -1.0f);
  const std::vector<float> bias = padded_columns(c.bias);
  product.shape = c.shape;
  product.out = out.data(), product.out_stride = c.shape.columns;
  product.tail = {bias.data(), Activation::gelu, c.residual.data(), c.shape.columns};
  run_product(product);
  return out;
}

std::vector<float> float_result(const LinearCase& c) {
  const std::vector<float> packed = pack_weights(c.weights, c.shape.columns, c.shape.depth);
  FloatProduct product;
  product.x = c.x.data(), product.x_stride = c.shape.depth, product.weights = packed.data();
  return finish_and_run(product, c);
}

std::vector<float> bfloat16_result(const LinearCase& c) {
  const std::vector<Bfloat16> packed = pack_bfloat16(c.weights, c.shape.columns, c.shape.depth);
  Bfloat16Product product;
  product.x = c.x.data(), product.x_stride = c.shape.depth, product.weights = packed.data();
  return finish_and_run(product, c);
}

std::vector<float> int8_result(const LinearCase& c) {
  const PackedInt8 packed = pack_int8(c.weights, c.shape.columns, c.shape.depth);
  std::vector<int16_t> x(static_cast<size_t>(c.shape.rows * paired_depth(c.shape.depth)));
  std::vector<float> scale(static_cast<size_t>(c.shape.rows));
  quantize_rows({c.x.data(), c.shape.depth, c.shape.rows, c.shape.depth, x.data(), scale.data()});
  Int8Product product;
  product.x = x.data(), product.row_scale = scale.data();
  product.weights = packed.weights.data(), product.column_scale = packed.column_scale.data();
  return finish_and_run(product, c);
}

double largest_difference(const std::vector<float>& got, const std::vector<double>& wanted) {
  double most = 0;
  for (size_t i = 0; i < got.size(); ++i) most = std::max(most, std::abs(static_cast<double>(got[i]) - wanted[i]));
  return most;
}

const ProductShape kShapes[] = {{1, 1, 1},    {1, 10, 17},  {2, 16, 64},   {5, 33, 40},    {6, 32, 192},
                                {7, 48, 100}, {13, 100, 7}, {197, 64, 48}, {20, 40, 1700}, {12, 32, 4000}};

class ProductOnTarget : public testing::TestWithParam<std::string> {
  void SetUp() override { set_simd_target(GetParam()); }
  void TearDown() override { set_simd_target(""); }
};

TEST_P(ProductOnTarget, float32_is_exact_to_rounding) {
  for (const ProductShape& shape : kShapes) {
    const LinearCase c(shape);
    EXPECT_LT(largest_difference(float_result(c), c.expected()), 1e-5) << shape.rows << " " << shape.columns;
  }
}

/// Weights with eight bits of precision, as bfloat16 has them.
LinearCase with_rounded_weights(const ProductShape& shape) {
  LinearCase c(shape);
  for (float& w : c.weights) {
    int exponent = 0;
    const float fraction = std::frexp(w, &exponent);
    w = std::ldexp(std::nearbyint(fraction * 256.0f), exponent - 8);
  }
  return c;
}

TEST_P(ProductOnTarget, bfloat16_is_float32_with_rounded_weights_to_the_bit) {
  for (const ProductShape& shape : kShapes) {
    EXPECT_EQ(bfloat16_result(LinearCase(shape)), float_result(with_rounded_weights(shape)))
        << shape.rows << " " << shape.columns;
  }
}

TEST_P(ProductOnTarget, int8_errs_by_its_rounding_of_the_weights) {
  for (const ProductShape& shape : kShapes) {
    const LinearCase c(shape);
    EXPECT_LT(largest_difference(int8_result(c), c.expected()), 0.06) << shape.rows << " " << shape.columns;
  }
}

TEST_P(ProductOnTarget, layer_norm_has_no_mean_and_unit_variance_before_its_weights) {
  for (const int64_t channels : {1, 7, 64, 195}) {
    const std::vector<float> x = noise(3 * channels, 5, 2.0f), weight = noise(channels, 6), bias = noise(channels, 7);
    std::vector<float> out(x.size());
    layer_norm({x.data(), channels, 3, channels, weight.data(), bias.data(), 1e-5f, out.data(), channels});
    for (int64_t row = 0; row < 3; ++row) {
      double mean = 0, variance = 0;
      const float* values = x.data() + row * channels;
      for (int64_t c = 0; c < channels; ++c) mean += static_cast<double>(values[c]) / static_cast<double>(channels);
      for (int64_t c = 0; c < channels; ++c)
        variance += std::pow(static_cast<double>(values[c]) - mean, 2) / static_cast<double>(channels);
      for (int64_t c = 0; c < channels; ++c) {
        const auto i = static_cast<size_t>(c);
        const double wanted =
            (static_cast<double>(values[c]) - mean) / std::sqrt(variance + 1e-5) * static_cast<double>(weight[i]) +
            static_cast<double>(bias[i]);
        EXPECT_NEAR(out[static_cast<size_t>(row * channels + c)], wanted, 2e-5);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ProductOnTarget, testing::ValuesIn(simd_targets()),
                         [](const auto& test) { return test.param; });

TEST(Product, is_bitwise_the_same_with_any_number_of_threads) {
  const LinearCase c({61, 112, 500});
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const std::vector<float> one = float_result(c), one_int8 = int8_result(c);
  omp_set_num_threads(3);
  const std::vector<float> three = float_result(c), three_int8 = int8_result(c);
  omp_set_num_threads(before);
  EXPECT_EQ(std::memcmp(one.data(), three.data(), one.size() * sizeof(float)), 0);
  EXPECT_EQ(std::memcmp(one_int8.data(), three_int8.data(), one.size() * sizeof(float)), 0);
}

TEST(Product, rounds_to_the_nearest_bfloat16_and_keeps_what_is_no_number) {
  const float values[] = {
      1.0f, 1.00390625f, 1.01171875f, -1.0f, std::numeric_limits<float>::infinity(), std::bit_cast<float>(0x7f800001u)};
  const std::vector<Bfloat16> packed = pack_bfloat16(values, 1, 6);
  const std::vector<Bfloat16> wanted = {0x3f80, 0x3f80, 0x3f82, 0xbf80, 0x7f80, 0x7fc0};
  for (size_t k = 0; k < wanted.size(); ++k) EXPECT_EQ(packed[k * kPanelColumns], wanted[k]) << k;
}

TEST(Product, sums_of_int8_cannot_overflow) {
  for (const int64_t depth : {int64_t{1}, int64_t{768}, int64_t{16384}, kMaxInt8Depth}) {
    EXPECT_GE(activation_limit(depth), 127);
    EXPECT_LE(int64_t{127} * activation_limit(depth) * depth, int64_t{2147483647});
  }
}

TEST(Product, a_row_of_zeros_stays_zero_in_int8) {
  LinearCase c({3, 16, 32});
  std::fill(c.x.begin() + 32, c.x.begin() + 64, 0.0f);
  EXPECT_LT(largest_difference(int8_result(c), c.expected()), 0.06);
}

}  // namespace
}  // namespace fib::engine
