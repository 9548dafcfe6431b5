// SPDX-License-Identifier: Apache-2.0
// The tiled dense kernel against the oracle on the common cases, all pairs in the support.
#include "kernels/dense.h"

#include <omp.h>

#include <limits>
#include <set>
#include <stdexcept>

#include "kernels/tiles.h"
#include "oracle/case_run.h"

namespace fib::test {
namespace {

/// Every case of the list with all its pairs; what only a support can have falls away.
std::vector<AttentionCase> dense_cases() {
  std::vector<AttentionCase> cases;
  std::set<std::string> names;
  for (AttentionCase c : attention_cases()) {
    c.make_dense();
    if (names.insert(c.name).second) cases.push_back(std::move(c));
  }
  return cases;
}

class EveryDenseCase : public testing::TestWithParam<AttentionCase> {};

TEST_P(EveryDenseCase, agrees_with_the_oracle) {
  const AttentionCase& c = GetParam();
  const SupportSet support = c.make_support();
  const OracleProblem p = make_problem(c, support);
  const std::vector<double> grad_out = make_grad_out(p.shape);
  const CaseResults expected = oracle_results(p, grad_out);
  for_each_target([&] {
    expect_results(run_case<float, DenseKernel>(c, p, grad_out), expected, max_abs(p.v), kTolerance<float>);
    expect_results(run_case<double, DenseKernel>(c, p, grad_out), expected, max_abs(p.v), kTolerance<double>);
  });
}

INSTANTIATE_TEST_SUITE_P(Attention, EveryDenseCase, testing::ValuesIn(dense_cases()), case_name);

AttentionCase dense_case(int64_t batch, int64_t heads, int64_t patches, int64_t dim) {
  AttentionCase c{.batch = batch, .heads = heads, .patches = patches, .dim = dim, .value_dim = dim};
  c.support = SupportKind::full;
  return c;
}

TEST(Dense, threads_do_not_change_a_bit) {
  AttentionCase plain = dense_case(2, 3, 301, 24), biased = plain;
  biased.bias = BiasKind::shared, biased.dropout = 0.2, biased.causal = biased.lengths = true;
  const int before = omp_get_max_threads();
  for (const AttentionCase& c : {plain, biased}) {
    const SupportSet support = c.make_support();
    const OracleProblem p = make_problem(c, support);
    const auto run = [&](int threads) {
      omp_set_num_threads(threads);
      return run_case<float, DenseKernel>(c, p, make_grad_out(p.shape)).all();
    };
    const std::vector<double> one = run(1);
    for (int threads : {2, 7}) EXPECT_EQ(max_difference(run(threads), one), 0.0) << threads << " threads";
  }
  omp_set_num_threads(before);
}

TEST(Dense, scores_of_80_and_rows_far_below_zero_are_stable) {
  AttentionCase c = dense_case(1, 2, 75, 16);
  c.bias = BiasKind::shared;
  const SupportSet support = c.make_support();
  OracleProblem p = make_problem(c, support);
  p.scale = 20.0;
  for (double& b : p.bias) b -= 5000;
  const std::vector<double> grad_out = make_grad_out(p.shape), expected = oracle_forward(p).out;
  for_each_target([&] {
    EXPECT_LE(max_difference(run_case<float, DenseKernel>(c, p, grad_out).out, expected), 5e-3);
    EXPECT_LE(max_difference(run_case<double, DenseKernel>(c, p, grad_out).out, expected), 1e-11);
  });
}

TEST(Dense, a_bias_of_minus_infinity_excludes_pairs_and_whole_rows) {
  AttentionCase c = dense_case(1, 2, 75, 16);
  c.bias = BiasKind::shared;
  const SupportSet support = c.make_support();
  OracleProblem p = make_problem(c, support);
  const double infinity = std::numeric_limits<double>::infinity();
  for (int64_t j = 0; j < 75; ++j) {
    for (int64_t k = 0; k < 75; ++k) {
      if (j % 7 == 3 || (j + k) % 5 == 0) p.bias[static_cast<size_t>(j * 75 + k)] = -infinity;
    }
  }
  const std::vector<double> grad_out = make_grad_out(p.shape);
  const CaseResults expected = oracle_results(p, grad_out);
  for_each_target([&] {
    const CaseResults got = run_case<double, DenseKernel>(c, p, grad_out);
    EXPECT_EQ(got.lse[3], -infinity);
    expect_results(got, expected, max_abs(p.v), {1e-13, 1e-12});
  });
}

TEST(Dense, nan_of_a_query_stays_in_its_row) {
  const AttentionCase c = dense_case(1, 1, 50, 8);
  const SupportSet support = c.make_support();
  OracleProblem p = make_problem(c, support);
  p.q[20 * 8 + 3] = std::nan("");
  for_each_target([&] {
    const std::vector<double> out = run_case<float, DenseKernel>(c, p, make_grad_out(p.shape)).out;
    for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(std::isnan(out[i]), i / 8 == 20) << "row " << i / 8;
  });
}

TEST(Dense, the_functions_that_run_were_compiled_for_the_forced_target) {
  std::set<kernels::DenseFunction<float>> functions;
  for_each_target([&] { functions.insert(kernels::dense_of_target<float>(kernels::chosen_target()).forward); });
  EXPECT_EQ(functions.size(), simd_targets().size());
}

std::string refusal(const AttentionShape& shape, const DenseOptions<float>& options) {
  std::vector<float> memory(1000, 0.0f), out(1000);
  const TokenView<const float> in{memory.data(), 0, 0, 0};
  try {
    dense_attention_forward<float>(shape, {in, in, in}, {out.data(), 0, 0, shape.value_dim}, nullptr, options);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Dense, says_what_it_does_not_accept) {
  DenseOptions<float> causal, zero;
  causal.causal = true;
  zero.masking = Masking::zero;
  EXPECT_NE(refusal({1, 1, 4, 5, 8, 8}, causal).find("as many queries as keys, got 4 and 5"), std::string::npos);
  EXPECT_NE(refusal({1, 1, 4, 4, 8, 8}, zero).find("masking must be exclude"), std::string::npos);
  EXPECT_NE(refusal({1, 1, 4, 4, 513, 8}, {}).find("dim must be 1 to 512, got 513"), std::string::npos);
  EXPECT_NE(refusal({1, 0, 4, 4, 8, 8}, {}).find("heads must be 1 or more, got 0"), std::string::npos);
  EXPECT_EQ(refusal({1, 1, 4, 4, 8, 8}, {}), "accepted");
}

}  // namespace
}  // namespace fib::test
