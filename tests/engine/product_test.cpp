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
#include "kernels/extensions.h"

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
  product.epilogue = {bias.data(), Activation::gelu, c.residual.data(), c.shape.columns};
  run_product(product);
  return out;
}

std::vector<float> float_result(const LinearCase& c) {
  const std::vector<float> packed = pack_weights(c.weights, c.shape.columns, c.shape.depth);
  FloatProduct product;
  product.x = c.x.data(), product.x_stride = c.shape.depth, product.weights = packed.data();
  return finish_and_run(product, c);
}

/// Room for rows in any format; what stands behind them is NaN, so that a read beyond them shows.
struct ConvertedRoom {
  std::vector<float> room;
  ConvertedRows rows;
  explicit ConvertedRoom(const ProductShape& s)
      : room(static_cast<size_t>(converted_floats(s.rows, s.depth)), std::numeric_limits<float>::quiet_NaN()),
        rows(converted_rows(room.data(), s.rows, s.depth)) {}
};

std::vector<float> bfloat16_result(const LinearCase& c, RowFormat format) {
  const std::vector<Bfloat16> packed = pack_bfloat16(c.weights, c.shape.columns, c.shape.depth);
  const ConvertedRoom converted(c.shape);
  Bfloat16Product product;
  product.format = format;
  product.x = c.x.data(), product.x_stride = c.shape.depth, product.rows = converted.rows;
  product.weights = packed.data();
  if (product.format == RowFormat::bfloat16)
    convert_rows({c.x.data(), c.shape.depth, c.shape.rows, c.shape.depth}, product.format, converted.rows);
  return finish_and_run(product, c);
}

std::vector<float> int8_result(const LinearCase& c) {
  const PackedInt8 packed = pack_int8(c.weights, c.shape.columns, c.shape.depth);
  const ConvertedRoom converted(c.shape);
  Int8Product product;
  product.format = row_format<int8_t>(c.shape.depth), product.rows = converted.rows;
  convert_rows({c.x.data(), c.shape.depth, c.shape.rows, c.shape.depth}, product.format, converted.rows);
  product.weights = packed.weights.data(), product.column_scale = packed.columns.data();
  product.column_sum = packed.columns.data() + packed.columns.size() / 2;
  return finish_and_run(product, c);
}

double largest_difference(const std::vector<float>& got, const std::vector<double>& wanted) {
  double most = 0;
  for (size_t i = 0; i < got.size(); ++i) most = std::max(most, std::abs(static_cast<double>(got[i]) - wanted[i]));
  return most;
}

const ProductShape kShapes[] = {{1, 1, 1},    {1, 10, 17},  {2, 16, 64},   {5, 33, 40},    {6, 32, 192},
                                {7, 48, 100}, {13, 100, 7}, {197, 64, 48}, {20, 40, 1700}, {12, 32, 4000}};

/// A target, and what its processor is to do without.
struct Way {
  std::string target, without;
  friend std::ostream& operator<<(std::ostream& out, const Way& way) {
    return out << way.target << (way.without.empty() ? "" : " without ") << way.without;
  }
};

/// Every target of the machine, with all extensions and without each.
std::vector<Way> all_ways() {
  std::vector<Way> ways;
  for (const std::string& target : simd_targets()) {
    ways.push_back({target, ""});
    for (const std::string& name : kernels::extension_names(kernels::extensions())) ways.push_back({target, name});
  }
  return ways;
}

class ProductOnTarget : public testing::TestWithParam<Way> {
  void SetUp() override {
    set_simd_target(GetParam().target);
    kernels::without_extensions(GetParam().without);
  }
  void TearDown() override {
    set_simd_target("");
    kernels::without_extensions("");
  }
};

TEST_P(ProductOnTarget, float32_is_exact_to_rounding) {
  for (const ProductShape& shape : kShapes) {
    const LinearCase c(shape);
    EXPECT_LT(largest_difference(float_result(c), c.expected()), 1e-5) << shape.rows << " " << shape.columns;
  }
}

/// With eight bits of precision, as bfloat16 has them.
void round_to_bfloat16(std::vector<float>& values) {
  for (float& w : values) {
    int exponent = 0;
    const float fraction = std::frexp(w, &exponent);
    w = std::ldexp(std::nearbyint(fraction * 256.0f), exponent - 8);
  }
}

/// Also where float32 is faster.
bool multiplies_bfloat16(int64_t depth) {
  const uint32_t extensions = kernels::extensions();
  if (simd_target() == "NEON") return (extensions & kernels::kBf16Matrix) != 0 && depth % 4 == 0;
  return simd_target().starts_with("AVX3") && (extensions & kernels::kAvx512Bf16) != 0;
}

TEST_P(ProductOnTarget, bfloat16_is_float32_with_rounded_factors) {
  for (const ProductShape& shape : kShapes) {
    LinearCase rounded(shape);
    round_to_bfloat16(rounded.weights);
    EXPECT_EQ(bfloat16_result(LinearCase(shape), RowFormat::float32), float_result(rounded)) << shape.rows;
    if (!multiplies_bfloat16(shape.depth)) continue;
    round_to_bfloat16(rounded.x);
    const std::vector<float> got = bfloat16_result(LinearCase(shape), RowFormat::bfloat16);
    // The products of eight bits are exact; sums of K of them, whose magnitudes add up to about sqrt(K), round K times.
    const double bound = 4e-7 * (2 + std::sqrt(static_cast<double>(shape.depth)));
    EXPECT_LT(largest_difference(got, rounded.expected()), bound) << shape.rows << " " << shape.columns;
  }
}

TEST_P(ProductOnTarget, int8_errs_by_its_rounding) {
  for (const ProductShape& shape : kShapes) {
    const LinearCase c(shape);
    EXPECT_LT(largest_difference(int8_result(c), c.expected()), 0.08) << shape.rows << " " << shape.columns;
  }
}

/// Any integers as factors: what a product gives, and the sums one by one.
struct IntegerCase {
  ProductShape shape;
  RowFormat format;
  ConvertedRoom room;
  std::vector<int32_t> x, weights, zero;

  IntegerCase(const ProductShape& s, RowFormat rows, std::mt19937& random)
      : shape(s),
        format(rows),
        room(s),
        x(static_cast<size_t>(s.rows * s.depth)),
        weights(static_cast<size_t>(s.columns * s.depth)),
        zero(static_cast<size_t>(s.rows)) {
    // The largest of both signs often: sums that saturate or overflow show.
    const bool words = rows == RowFormat::words;
    const int32_t most = words ? word_limit(s.depth) : 255;
    const auto any = [&](int32_t low, int32_t high) {
      const uint32_t kind = random() % 4;
      if (kind == 0) return low;
      return kind == 1 ? high : std::uniform_int_distribution<int32_t>(low, high)(random);
    };
    for (int32_t& value : x) value = any(words ? -most : 0, most);
    for (int32_t& value : weights) value = any(-127, 127);
    for (int32_t& value : zero) value = words ? 0 : any(0, 255);
  }

  std::vector<float> expected() const {
    std::vector<float> out;
    for (int64_t i = 0; i < shape.rows; ++i) {
      for (int64_t n = 0; n < shape.columns; ++n) {
        int64_t sum = 0;
        for (int64_t k = 0; k < shape.depth; ++k)
          sum += int64_t{x[static_cast<size_t>(i * shape.depth + k)] - zero[static_cast<size_t>(i)]} *
                 weights[static_cast<size_t>(n * shape.depth + k)];
        out.push_back(static_cast<float>(sum));
      }
    }
    return out;
  }

  void write_rows() const {
#if defined(__aarch64__)
    constexpr int32_t kShift = 128;  // its products are of signed bytes
#else
    constexpr int32_t kShift = 0;
#endif
    const int64_t stride = row_stride(shape.depth), filled = (shape.depth + 3) / 4 * 4;
    for (int64_t i = 0; i < shape.rows; ++i) {
      room.rows.scale[i] = 1.0f;
      room.rows.zero[i] = format == RowFormat::words ? 0 : zero[static_cast<size_t>(i)] - kShift;
      for (int64_t k = 0; k < filled; ++k) {
        const int32_t value = k < shape.depth ? x[static_cast<size_t>(i * shape.depth + k)] : 0;
        if (format == RowFormat::words) {
          static_cast<int16_t*>(room.rows.values)[i * stride + k] = static_cast<int16_t>(value);
        } else {
          static_cast<uint8_t*>(room.rows.values)[i * stride + k] = static_cast<uint8_t>(value - kShift);
        }
      }
    }
  }

  std::vector<float> result() const {
    // A column whose largest weight is 127 keeps its integers: one more row of weights makes that so.
    std::vector<float> values(weights.begin(), weights.end());
    PackedInt8 packed = pack_int8(values, shape.columns, shape.depth);
    for (size_t n = 0; n < static_cast<size_t>(shape.columns); ++n) packed.columns[n] = 1.0f;
    write_rows();
    std::vector<float> out(static_cast<size_t>(shape.rows * shape.columns), -1.0f);
    Int8Product product;
    product.shape = shape, product.format = format, product.rows = room.rows;
    product.out = out.data(), product.out_stride = shape.columns;
    product.weights = packed.weights.data(), product.column_scale = packed.columns.data();
    product.column_sum = packed.columns.data() + packed.columns.size() / 2;
    run_product(product);
    return out;
  }
};

TEST_P(ProductOnTarget, int8_sums_are_exact) {
  std::mt19937 random(11);
  std::vector<ProductShape> shapes(std::begin(kShapes), std::end(kShapes));
  shapes.push_back({35, 80, 3072});
  shapes.push_back({3, 20, kMaxInt8Depth});
  for (int i = 0; i < 40; ++i)
    shapes.push_back(
        {1 + static_cast<int64_t>(random() % 70), 1 + static_cast<int64_t>(random() % 90),
         i % 2 == 0 ? 64 * (1 + static_cast<int64_t>(random() % 20)) : 1 + static_cast<int64_t>(random() % 900)});
  for (const ProductShape& shape : shapes) {
    for (const RowFormat format : {row_format<int8_t>(shape.depth), RowFormat::words}) {
      IntegerCase c(shape, format, random);
      for (int64_t n = 0; n < shape.columns; ++n)
        c.weights[static_cast<size_t>(n * shape.depth)] = n % 2 == 0 ? 127 : -127;
      EXPECT_EQ(c.result(), c.expected()) << shape.rows << " " << shape.columns << " " << shape.depth;
    }
  }
}

/// A product of low precision on the rows of a case, set up but for its output.
template <class AnyProduct>
AnyProduct product_of(const LinearCase& c, const ConvertedRoom& room, RowFormat format, std::vector<float>& out) {
  AnyProduct product;
  product.shape = c.shape, product.format = format, product.rows = room.rows;
  product.out = out.data(), product.out_stride = c.shape.columns;
  return product;
}

TEST_P(ProductOnTarget, rows_of_each_thread_give_the_bits_of_the_whole_product) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(2);
  // Threads take 48 rows or more of their own, and share fewer.
  for (const ProductShape& shape : {ProductShape{200, 40, 64}, ProductShape{97, 17, 33}, ProductShape{20, 40, 64}}) {
    const LinearCase c(shape);
    const ConvertedRoom room(shape), again(shape);
    const RowSource source{c.x.data(), shape.depth, shape.rows, shape.depth};
    std::vector<float> by_rows(c.residual.size(), -1.0f), whole(by_rows.size(), -2.0f);
    const PackedInt8 packed = pack_int8(c.weights, shape.columns, shape.depth);
    const auto run_both = [&](auto one, auto two) {
      run_linear(source, one);
      convert_rows(source, two.format, two.rows);
      run_product(two);
      EXPECT_EQ(by_rows, whole) << shape.rows;
    };
    const auto int8 = [&](const ConvertedRoom& rows, std::vector<float>& out) {
      auto product = product_of<Int8Product>(c, rows, row_format<int8_t>(shape.depth), out);
      product.weights = packed.weights.data(), product.column_scale = packed.columns.data();
      product.column_sum = packed.columns.data() + packed.columns.size() / 2;
      return product;
    };
    run_both(int8(room, by_rows), int8(again, whole));
    if (row_format<Bfloat16>(shape.depth) != RowFormat::bfloat16) continue;
    const std::vector<Bfloat16> halves = pack_bfloat16(c.weights, shape.columns, shape.depth);
    const auto bfloat16 = [&](const ConvertedRoom& rows, std::vector<float>& out) {
      auto product = product_of<Bfloat16Product>(c, rows, RowFormat::bfloat16, out);
      product.weights = halves.data();
      return product;
    };
    run_both(bfloat16(room, by_rows), bfloat16(again, whole));
  }
  omp_set_num_threads(before);
}

TEST_P(ProductOnTarget, rows_of_bytes_are_off_by_half_a_step) {
  const int64_t depth = 67;
  std::vector<float> x = noise(4 * depth, 8);
  for (int64_t k = 0; k < depth; ++k) x[static_cast<size_t>(depth + k)] = std::abs(x[static_cast<size_t>(k)]) + 3;
  std::fill(x.begin() + 2 * depth, x.begin() + 3 * depth, 0.0f);
  x[static_cast<size_t>(3 * depth + 5)] = std::numeric_limits<float>::infinity();
  const ConvertedRoom room({4, 1, depth});
  const RowFormat format = row_format<int8_t>(depth);
  convert_rows({x.data(), depth, 4, depth}, format, room.rows);
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t at = i * row_stride(depth) + k;
      const int32_t value = format == RowFormat::words ? static_cast<const int16_t*>(room.rows.values)[at]
#if defined(__aarch64__)
                                                       : static_cast<const int8_t*>(room.rows.values)[at];
#else
                                                       : static_cast<const uint8_t*>(room.rows.values)[at];
#endif
      const int32_t zero = format == RowFormat::words ? 0 : room.rows.zero[i];
      // Half a step, and at the ends of the range half of one that the zero was rounded by.
      EXPECT_NEAR(static_cast<float>(value - zero) * room.rows.scale[i], x[static_cast<size_t>(i * depth + k)],
                  1.01f * room.rows.scale[i] + 1e-30f);
    }
  }
  EXPECT_TRUE(std::isnan(room.rows.scale[3])) << "a row that is no number must not become one";
}

TEST_P(ProductOnTarget, rows_go_through_their_layer_norm) {
  const int64_t depth = 70;
  const std::vector<float> x = noise(5 * depth, 12), weight = noise(depth, 13), bias = noise(depth, 14);
  std::vector<float> normed(x.size());
  layer_norm({x.data(), depth, 5, depth, weight.data(), bias.data(), 1e-6f, normed.data(), depth});
  const RowFormat format = row_format<int8_t>(depth);
  const ConvertedRoom one({5, 1, depth}), two({5, 1, depth});
  convert_rows({x.data(), depth, 5, depth, weight.data(), bias.data(), 1e-6f}, format, one.rows);
  convert_rows({normed.data(), depth, 5, depth}, format, two.rows);
  const size_t bytes = static_cast<size_t>(depth) * (format == RowFormat::words ? 2 : 1);
  const auto stride = static_cast<size_t>(row_stride(depth)) * (format == RowFormat::words ? 2 : 1);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(one.rows.scale[i], two.rows.scale[i]);
    EXPECT_EQ(std::memcmp(static_cast<char*>(one.rows.values) + i * stride,
                          static_cast<char*>(two.rows.values) + i * stride, bytes),
              0);
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

INSTANTIATE_TEST_SUITE_P(Targets, ProductOnTarget, testing::ValuesIn(all_ways()), [](const auto& test) {
  return test.param.target + (test.param.without.empty() ? "" : "_without_" + test.param.without);
});

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
  for (size_t k = 0; k < wanted.size(); ++k) EXPECT_EQ(packed[k / 2 * 2 * kPanelColumns + k % 2], wanted[k]) << k;
}

TEST(Product, sums_of_int8_cannot_overflow) {
  EXPECT_LE(int64_t{127} * 255 * kMaxInt8Depth, int64_t{2147483647});
  EXPECT_LT(int64_t{127} * kMaxInt8Depth, int64_t{1} << 24) << "the sums of columns are kept as float32";
  for (const int64_t depth : {int64_t{1}, int64_t{768}, int64_t{16384}, kMaxInt8Depth}) {
    EXPECT_GE(word_limit(depth), 127);
    EXPECT_LE(int64_t{127} * word_limit(depth) * depth, int64_t{2147483647});
  }
}

TEST(Product, a_row_of_zeros_stays_zero_in_int8) {
  LinearCase c({3, 16, 32});
  std::fill(c.x.begin() + 32, c.x.begin() + 64, 0.0f);
  EXPECT_LT(largest_difference(int8_result(c), c.expected()), 0.08);
}

}  // namespace
}  // namespace fib::engine
