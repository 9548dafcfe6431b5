// SPDX-License-Identifier: Apache-2.0
// Backward against differences of forward, in float64: no formula is shared between the two.
#include <numeric>

#include "oracle/case_run.h"

namespace fib::test {
namespace {

double objective(const AttentionCase& c, const OracleProblem& p, const std::vector<double>& grad_out) {
  CaseRun<double> run(c, p);
  run.forward();
  const std::vector<double> out = run.out();
  return std::inner_product(out.begin(), out.end(), grad_out.begin(), 0.0);
}

/// Central differences of the objective along some elements of one input.
void expect_derivatives(const AttentionCase& c, OracleProblem p, std::vector<double> OracleProblem::*input,
                        const std::vector<double>& gradient, const std::vector<double>& grad_out) {
  constexpr double kStep = 1e-5;
  std::vector<double>& x = p.*input;
  for (size_t i = 0; i < x.size(); i += 1 + x.size() / 60) {
    const double middle = x[i];
    x[i] = middle + kStep;
    const double above = objective(c, p, grad_out);
    x[i] = middle - kStep;
    const double below = objective(c, p, grad_out);
    x[i] = middle;
    EXPECT_NEAR((above - below) / (2 * kStep), gradient[i], 2e-9) << "element " << i;
  }
}

std::vector<AttentionCase> gradient_cases() {
  AttentionCase plain{.batch = 2, .heads = 2, .patches = 35, .cls = 1, .dim = 6, .value_dim = 5};
  AttentionCase causal = plain, zero = plain, bias = plain, random = plain, rectangular = plain;
  causal.causal = true, causal.lengths = true;
  zero.masking = Masking::zero;
  bias.bias = BiasKind::shared, bias.dropout = 0.25;
  random.support = SupportKind::bigbird, random.bias = BiasKind::grouped;
  rectangular.support = SupportKind::rectangular, rectangular.cls = 0, rectangular.bias = BiasKind::per_head;
  plain.name = "plain", causal.name = "causal_with_lengths", zero.name = "zero_masking";
  bias.name = "shared_bias_and_dropout", random.name = "explicit_pairs_and_bias", rectangular.name = "rectangular";
  AttentionCase neighbors = on_grid(plain, {5, 7}, 3), summaries = on_grid(plain, {7, 5}, 3, {3, 2});
  summaries.dropout = 0.2;
  neighbors.name = "neighbors", summaries.name = "summaries";
  return {plain, causal, zero, bias, random, rectangular, neighbors, summaries};
}

class Gradient : public testing::TestWithParam<AttentionCase> {};

TEST_P(Gradient, is_the_derivative_of_forward) {
  const AttentionCase& c = GetParam();
  const SupportSet support = c.make_support();
  const OracleProblem p = make_problem(c, support);
  const std::vector<double> grad_out = make_grad_out(p.shape);
  CaseRun<double> run(c, p);
  run.forward();
  run.backward(grad_out);
  expect_derivatives(c, p, &OracleProblem::q, run.dq(), grad_out);
  expect_derivatives(c, p, &OracleProblem::k, run.dk(), grad_out);
  expect_derivatives(c, p, &OracleProblem::v, run.dv(), grad_out);
  expect_derivatives(c, p, &OracleProblem::bias, run.dbias(), grad_out);
}

INSTANTIATE_TEST_SUITE_P(Attention, Gradient, testing::ValuesIn(gradient_cases()), case_name);

}  // namespace
}  // namespace fib::test
