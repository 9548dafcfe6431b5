// SPDX-License-Identifier: Apache-2.0
// Mish and its gradient against their definitions in float64.
#include "kernels/activation.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <limits>
#include <vector>

#include "oracle/case_run.h"

namespace fib::kernels {
namespace {

using Floats = std::vector<float>;

double tanh_of_softplus(double x) { return std::tanh(x > 30 ? x : std::log1p(std::exp(x))); }
double mish(double x) { return x * tanh_of_softplus(x); }
double mish_derivative(double x) {
  const double t = tanh_of_softplus(x);
  return t + x * (1 - t * t) / (1 + std::exp(-x));
}

/// From where nothing is left to where nothing changes; a count that fills no vector.
Floats arguments() {
  Floats x;
  for (int i = -1001; i <= 1001; ++i) x.push_back(static_cast<float>(i) / 20.0f);
  for (const float far : {-90.0f, -1e30f, 85.0f, 1e30f}) x.push_back(far);
  return x;
}

struct MishArrays {
  Floats out, dx;
};
MishArrays computed(const Floats& x) {
  MishArrays r{Floats(x.size()), Floats(x.size())};
  const Floats twos(x.size(), 2.0f);
  const auto count = static_cast<int64_t>(x.size());
  mish_forward(x.data(), count, r.out.data());
  mish_backward(x.data(), twos.data(), count, r.dx.data());
  return r;
}

TEST(Mish, agrees_with_its_definition_in_double) {
  const Floats x = arguments();
  test::for_each_target([&] {
    const MishArrays got = computed(x);
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_NEAR(got.out[i], mish(x[i]), 1e-6 * std::max(1.0f, std::abs(x[i]))) << x[i];
      ASSERT_NEAR(got.dx[i], 2 * mish_derivative(x[i]), 2e-6) << x[i];
    }
  });
}

TEST(Mish, keeps_what_is_no_number) {
  test::for_each_target([&] {
    const MishArrays got = computed({std::numeric_limits<float>::quiet_NaN(), 1.0f});
    EXPECT_TRUE(std::isnan(got.out[0]));
    EXPECT_TRUE(std::isnan(got.dx[0]));
    EXPECT_FALSE(std::isnan(got.out[1]));
  });
}

TEST(Mish, threads_do_not_change_a_bit) {
  Floats x;
  for (int i = 0; i < 100003; ++i) x.push_back(std::sin(static_cast<float>(i)) * 9.0f);
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const MishArrays one = computed(x);
  omp_set_num_threads(3);
  const MishArrays three = computed(x);
  omp_set_num_threads(before);
  EXPECT_EQ(one.out, three.out);
  EXPECT_EQ(one.dx, three.dx);
}

}  // namespace
}  // namespace fib::kernels
