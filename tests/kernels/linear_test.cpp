// SPDX-License-Identifier: Apache-2.0
// Linear layers and GELU against sums written out in float64.
#include "kernels/linear.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "oracle/case_run.h"
#include "oracle/floats.h"

namespace fib::kernels {
namespace {

using test::expect_near;
using test::random_floats;
using Floats = std::vector<float>;

struct LinearCase {
  LinearShape shape;
  bool bias, gelu;
};

struct LinearArrays {
  Floats out, derivative, dx, dweight, dbias;
};

struct LinearProblem {
  explicit LinearProblem(const LinearCase& c)
      : given(c),
        x(random_floats(c.shape.rows * c.shape.from, 1)),
        weight(random_floats(c.shape.to * c.shape.from, 2)),
        bias(random_floats(c.shape.to, 3)),
        grad_out(random_floats(c.shape.rows * c.shape.to, 4)) {}
  LinearCase given;
  Floats x, weight, bias, grad_out;

  double raised(int64_t m, int64_t n) const {
    const int64_t K = given.shape.from;
    double sum = given.bias ? bias[static_cast<size_t>(n)] : 0.0;
    for (int64_t k = 0; k < K; ++k) {
      sum += double(x[static_cast<size_t>(m * K + k)]) * double(weight[static_cast<size_t>(n * K + k)]);
    }
    return sum;
  }
};

double normal_below(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double gelu_derivative(double x) { return normal_below(x) + x * std::exp(-0.5 * x * x) / std::sqrt(2.0 * M_PI); }

LinearArrays expected(const LinearProblem& p) {
  const auto [M, K, N] = p.given.shape;
  LinearArrays r{.out = Floats(p.grad_out.size()), .derivative = {}, .dx = {}, .dweight = {}, .dbias = {}};
  std::vector<double> dx(p.x.size()), dweight(p.weight.size()), dbias(p.bias.size());
  for (int64_t m = 0; m < M; ++m) {
    for (int64_t n = 0; n < N; ++n) {
      const auto at = static_cast<size_t>(m * N + n);
      const double value = p.raised(m, n);
      r.out[at] = static_cast<float>(p.given.gelu ? value * normal_below(value) : value);
      const double g = double(p.grad_out[at]) * (p.given.gelu ? gelu_derivative(value) : 1.0);
      dbias[static_cast<size_t>(n)] += g;
      for (int64_t k = 0; k < K; ++k) {
        const auto i = static_cast<size_t>(m * K + k), j = static_cast<size_t>(n * K + k);
        dx[i] += g * double(p.weight[j]);
        dweight[j] += g * double(p.x[i]);
      }
    }
  }
  r.dx.assign(dx.begin(), dx.end());
  r.dweight.assign(dweight.begin(), dweight.end());
  r.dbias.assign(dbias.begin(), dbias.end());
  return r;
}

LinearArrays computed(const LinearProblem& p) {
  LinearArrays r{Floats(p.grad_out.size()), Floats(p.grad_out.size()), Floats(p.x.size()), Floats(p.weight.size()),
                 Floats(p.bias.size())};
  float* derivative = p.given.gelu ? r.derivative.data() : nullptr;
  linear_forward(p.given.shape, {.x = p.x.data(),
                                 .weight = p.weight.data(),
                                 .bias = p.given.bias ? p.bias.data() : nullptr,
                                 .out = r.out.data(),
                                 .derivative = derivative});
  linear_backward(p.given.shape, {.x = p.x.data(),
                                  .weight = p.weight.data(),
                                  .grad_out = p.grad_out.data(),
                                  .derivative = derivative,
                                  .dx = r.dx.data(),
                                  .dweight = r.dweight.data(),
                                  .dbias = r.dbias.data()});
  return r;
}

/// Rows that fill no block, parts of rows, channels deeper than a panel or a power of two, weights in one block and in
/// several, and every small number of vectors of 512 bits as a width, the last of which are two of a panel or three.
std::vector<LinearCase> linear_cases() {
  return {{{5, 64, 32}, true, false},    {{101, 32, 96}, true, true},   {{601, 32, 64}, false, true},
          {{9, 416, 32}, true, true},    {{7, 16, 48}, true, true},     {{103, 48, 16}, true, false},
          {{97, 48, 144}, true, true},   {{193, 80, 112}, false, true}, {{1601, 16, 80}, true, true},
          {{201, 272, 256}, true, true}, {{203, 1024, 80}, true, false}};
}

TEST(Linear, agrees_with_sums_in_double) {
  for (const LinearCase& c : linear_cases()) {
    const LinearProblem p(c);
    const LinearArrays wanted = expected(p);
    test::for_each_target([&] {
      ASSERT_TRUE(linear_fits(c.shape));
      const LinearArrays got = computed(p);
      expect_near(got.out, wanted.out, "out");
      expect_near(got.dx, wanted.dx, "dx");
      expect_near(got.dweight, wanted.dweight, "dweight");
      expect_near(got.dbias, wanted.dbias, "dbias");
    });
  }
}

TEST(Linear, threads_do_not_change_a_bit) {
  for (const LinearShape& shape : {LinearShape{1601, 64, 96}, LinearShape{601, 272, 256}}) {
    const LinearProblem p({shape, true, true});
    const int before = omp_get_max_threads();
    omp_set_num_threads(1);
    const LinearArrays one = computed(p);
    omp_set_num_threads(3);
    const LinearArrays three = computed(p);
    omp_set_num_threads(before);
    EXPECT_EQ(one.out, three.out);
    EXPECT_EQ(one.dx, three.dx);
    EXPECT_EQ(one.dweight, three.dweight);
    EXPECT_EQ(one.dbias, three.dbias);
  }
}

TEST(Linear, takes_every_width_of_whole_vectors) {
  test::for_each_target([] {
    for (int64_t width = 16; width <= 256; width += 16) {
      EXPECT_TRUE(linear_fits({100, width, 16})) << width;
      EXPECT_TRUE(linear_fits({100, 16, width})) << width;
    }
  });
}

/// One row of weights and inputs without a neighbor: nothing is rounded before GELU.
TEST(Linear, gelu_and_its_derivative_are_off_by_a_few_ulps_of_one) {
  constexpr int64_t kWidth = 16, kRows = 2000;
  Floats x(kRows * kWidth), weight(kWidth * kWidth), out(x.size()), derivative(x.size());
  for (size_t i = 0; i < kWidth; ++i) weight[i * kWidth + i] = 1.0f;
  for (size_t i = 0; i < x.size(); ++i) x[i] = 30.0f * (static_cast<float>(i) / static_cast<float>(x.size()) - 0.5f);
  test::for_each_target([&] {
    linear_forward(
        {kRows, kWidth, kWidth},
        {.x = x.data(), .weight = weight.data(), .bias = nullptr, .out = out.data(), .derivative = derivative.data()});
    for (size_t i = 0; i < x.size(); ++i) {
      const double v = x[i];
      ASSERT_NEAR(out[i], v * normal_below(v), 4e-7 * std::max(1.0, std::abs(v))) << v;
      ASSERT_NEAR(derivative[i], gelu_derivative(v), 4e-7) << v;
    }
  });
}

TEST(Linear, leaves_widths_that_fill_no_panel_to_others) {
  EXPECT_FALSE(linear_fits({100, 96, 10 * 10 + 1}));
  EXPECT_FALSE(linear_fits({100, 3, 96}));
  EXPECT_FALSE(linear_fits({0, 96, 96}));
}

}  // namespace
}  // namespace fib::kernels
