// SPDX-License-Identifier: Apache-2.0
// Forward and backward against the oracle, on every case, precision and SIMD target.
#include "oracle/case_run.h"

namespace fib::test {
namespace {

class EveryCase : public testing::TestWithParam<AttentionCase> {};

TEST_P(EveryCase, agrees_with_the_oracle) {
  const AttentionCase& c = GetParam();
  const SupportSet support = c.make_support();
  const OracleProblem p = make_problem(c, support);
  const std::vector<double> grad_out = make_grad_out(p.shape);
  const CaseResults expected = oracle_results(p, grad_out);
  for_each_target([&] {
    expect_results(run_case<float>(c, p, grad_out), expected, max_abs(p.v), kTolerance<float>);
    expect_results(run_case<double>(c, p, grad_out), expected, max_abs(p.v), kTolerance<double>);
  });
}

INSTANTIATE_TEST_SUITE_P(Attention, EveryCase, testing::ValuesIn(attention_cases()), case_name);

}  // namespace
}  // namespace fib::test
