// SPDX-License-Identifier: Apache-2.0
#include "analysis/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace fib::analysis {
namespace {

TEST(StudentP, is_that_of_the_printed_tables) {
  const std::vector<std::pair<int64_t, double>> at_five_percent = {
      {1, 12.7062047364}, {2, 4.30265272991}, {3, 3.18244630528}, {4, 2.77644510520},
      {5, 2.57058183661}, {9, 2.26215716274}, {29, 2.04522964213}};
  for (const auto& [freedom, t] : at_five_percent) {
    EXPECT_NEAR(student_p(t, freedom), 0.05, 1e-10) << freedom;
    EXPECT_NEAR(student_p(-t, freedom), 0.05, 1e-10) << freedom;
  }
  EXPECT_NEAR(student_p(4.60409487142, 4), 0.01, 1e-10);
  EXPECT_DOUBLE_EQ(student_p(0, 7), 1);
}

TEST(StudentP, has_closed_forms_for_one_and_two_degrees) {
  for (double t : {0.1, 0.7, 1.0, 3.0, 40.0}) {
    EXPECT_NEAR(student_p(t, 1), 1 - 2 / std::numbers::pi * std::atan(t), 1e-14);
    EXPECT_NEAR(student_p(t, 2), 1 - t / std::sqrt(2 + t * t), 1e-14);
  }
}

TEST(PairedTTest, gives_students_own_example) {
  // Hours of sleep gained with two drugs by ten patients (Student, Biometrika 1908): t = -4.0621, p = 0.002833.
  const std::vector<double> first = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
  const std::vector<double> second = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};
  const PairedTest test = paired_t_test(first, second);
  EXPECT_EQ(test.pairs, 10);
  EXPECT_NEAR(test.difference, -1.58, 1e-12);
  EXPECT_NEAR(test.p, 0.002833, 5e-7);
  EXPECT_DOUBLE_EQ(paired_t_test(second, first).p, test.p);
}

TEST(PairedTTest, does_not_decide_where_all_differences_are_equal) {
  EXPECT_EQ(paired_t_test({1, 2, 3}, {1, 2, 3}).p, 1);
  EXPECT_EQ(paired_t_test({1, 2, 3}, {2, 3, 4}).p, 1);
  EXPECT_EQ(paired_t_test({1, 2, 3}, {2, 3, 4}).difference, -1);
}

TEST(PairedTTest, needs_pairs) {
  EXPECT_THROW(paired_t_test({1}, {2}), std::invalid_argument);
  EXPECT_THROW(paired_t_test({1, 2}, {2}), std::invalid_argument);
}

TEST(Estimate, has_the_interval_of_students_t) {
  const Estimate e = estimate({36.0, 37.5, 39.0});
  EXPECT_DOUBLE_EQ(e.mean, 37.5);
  EXPECT_DOUBLE_EQ(e.deviation, 1.5);
  EXPECT_NEAR(e.half_width, 4.30265272991 * 1.5 / std::sqrt(3.0), 1e-9);
  EXPECT_EQ(estimate({5}).half_width, 0);
  EXPECT_EQ(estimate({}).count, 0);
}

}  // namespace
}  // namespace fib::analysis
