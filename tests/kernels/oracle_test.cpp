// SPDX-License-Identifier: Apache-2.0
// Forward and backward against the oracle, on every case, precision and SIMD target.
#include <limits>

#include "kernels/arrays.h"

namespace fib::test {
namespace {

/// What rounding may cost: forward relative to max |v|, gradients relative to the largest gradient of their kind.
template <class T>
constexpr double kForwardTolerance = 2e-6;
template <>
constexpr double kForwardTolerance<double> = 1e-14;
template <class T>
constexpr double kGradientTolerance = 1e-5;
template <>
constexpr double kGradientTolerance<double> = 1e-13;

struct Expected {
  bench::OracleResult forward;
  bench::OracleGradients backward;
};

template <class T>
void expect_forward(const AttentionCase& c, const bench::OracleProblem& p, const Expected& expected) {
  CaseRun<T> run(c, p);
  run.forward();
  EXPECT_LE(max_difference(run.out(), expected.forward.out), kForwardTolerance<T> * max_abs(p.v));
  EXPECT_LE(max_difference(run.lse(), expected.forward.lse), 4 * kForwardTolerance<T>);
}

void expect_near(const char* what, const std::vector<double>& got, const std::vector<double>& expected, double bound) {
  EXPECT_LE(max_difference(got, expected), bound * std::max(1.0, max_abs(expected))) << what;
}

template <class T>
void expect_backward(const AttentionCase& c, const bench::OracleProblem& p, const std::vector<double>& grad_out,
                     const Expected& expected) {
  CaseRun<T> run(c, p);
  run.forward();
  run.backward(grad_out);
  expect_near("dq", run.dq(), expected.backward.dq, kGradientTolerance<T>);
  expect_near("dk", run.dk(), expected.backward.dk, kGradientTolerance<T>);
  expect_near("dv", run.dv(), expected.backward.dv, kGradientTolerance<T>);
  expect_near("dbias", run.dbias(), expected.backward.dbias, kGradientTolerance<T>);
}

class EveryCase : public testing::TestWithParam<AttentionCase> {};

TEST_P(EveryCase, agrees_with_the_oracle) {
  const AttentionCase& c = GetParam();
  const SupportSet support = c.make_support();
  const bench::OracleProblem p = make_problem(c, support);
  const std::vector<double> grad_out = make_grad_out(p.shape);
  const Expected expected{bench::oracle_forward(p), bench::oracle_backward(p, grad_out)};
  for_each_target([&] {
    expect_forward<float>(c, p, expected);
    expect_forward<double>(c, p, expected);
    expect_backward<float>(c, p, grad_out, expected);
    expect_backward<double>(c, p, grad_out, expected);
  });
}

INSTANTIATE_TEST_SUITE_P(Attention, EveryCase, testing::ValuesIn(bench::attention_cases()), case_name);

}  // namespace
}  // namespace fib::test
