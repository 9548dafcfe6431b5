// SPDX-License-Identifier: Apache-2.0
// Extreme and missing values: large scores, infinities, NaN, empty rows, empty batches, broadcast strides.
#include <limits>

#include "oracle/case_run.h"

namespace fib::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

AttentionCase plain_case() {
  AttentionCase c{.batch = 1, .heads = 2, .patches = 75, .cls = 1, .dim = 16, .value_dim = 16};
  c.support = SupportKind::bigbird;
  return c;
}

/// Agreement with the oracle in both precisions, on all targets; the float32 bound is the scores' own rounding error.
void expect_oracle(const AttentionCase& c, const OracleProblem& p, double float_bound) {
  const auto expected = oracle_forward(p);
  for_each_target([&] {
    CaseRun<float> single(c, p);
    single.forward();
    EXPECT_LE(max_difference(single.out(), expected.out), float_bound);
    CaseRun<double> twice(c, p);
    twice.forward();
    EXPECT_LE(max_difference(twice.out(), expected.out), 1e-12);
  });
}

TEST(Numerics, scores_of_80_are_stable) {
  const AttentionCase c = plain_case();
  const SupportSet support = c.make_support();
  OracleProblem p = make_problem(c, support);
  p.scale = 20.0;
  EXPECT_GT(*p.scale * max_abs(p.q) * max_abs(p.k) * 4, 80.0);
  expect_oracle(c, p, 2e-4);
}

TEST(Numerics, rows_whose_scores_all_lie_far_below_zero_keep_their_weights) {
  AttentionCase c = plain_case();
  c.bias = BiasKind::shared;
  const SupportSet support = c.make_support();
  OracleProblem p = make_problem(c, support);
  for (double& b : p.bias) b -= 5000;
  expect_oracle(c, p, 5e-3);
}

TEST(Numerics, zero_masking_is_stable_for_large_scores) {
  AttentionCase c = plain_case();
  c.masking = Masking::zero;
  const SupportSet support = c.make_support();
  OracleProblem p = make_problem(c, support);
  p.scale = 20.0;
  expect_oracle(c, p, 2e-4);
}

TEST(Numerics, a_bias_of_minus_infinity_excludes_pairs_and_whole_rows) {
  AttentionCase c = plain_case();
  c.bias = BiasKind::shared;
  const SupportSet support = c.make_support();
  OracleProblem p = make_problem(c, support);
  const int64_t tokens = p.shape.key_tokens;
  for (int64_t j = 0; j < tokens; ++j) {
    for (int64_t k = 0; k < tokens; ++k) {
      if (j % 7 == 3 || (j + k) % 5 == 0) p.bias[static_cast<size_t>(j * tokens + k)] = -kInfinity;
    }
  }
  expect_oracle(c, p, 2e-6 * max_abs(p.v));
  const auto grad_out = make_grad_out(p.shape);
  const auto expected = oracle_backward(p, grad_out);
  for_each_target([&] {
    CaseRun<double> run(c, p);
    run.forward();
    EXPECT_EQ(run.lse()[3], -kInfinity);
    run.backward(grad_out);
    EXPECT_LE(max_difference(run.dq(), expected.dq), 1e-12);
    EXPECT_LE(max_difference(run.dk(), expected.dk), 1e-12);
    EXPECT_LE(max_difference(run.dv(), expected.dv), 1e-12);
    EXPECT_LE(max_difference(run.dbias(), expected.dbias), 1e-12);
  });
}

/// Which queries of which heads have a NaN anywhere in their output row.
std::vector<bool> rows_with_nan(const std::vector<double>& out, int64_t channels) {
  std::vector<bool> rows(out.size() / static_cast<size_t>(channels), false);
  for (size_t i = 0; i < out.size(); ++i) {
    if (std::isnan(out[i])) rows[i / static_cast<size_t>(channels)] = true;
  }
  return rows;
}

TEST(Numerics, nan_reaches_exactly_the_rows_that_read_it) {
  const AttentionCase c = plain_case();
  const SupportSet support = c.make_support();
  for (int64_t token : {0, 1, 17, 40, 75}) {
    for (auto input : {&OracleProblem::k, &OracleProblem::v, &OracleProblem::q}) {
      OracleProblem p = make_problem(c, support);
      const bool is_query = input == &OracleProblem::q;
      (p.*input)[static_cast<size_t>(token * 16 + 5)] = std::nan("");  // of head 0
      std::vector<bool> expected;
      for (int64_t h = 0; h < 2; ++h) {
        for (int64_t j = 0; j < p.shape.query_tokens; ++j) {
          const TokenPair pair{static_cast<int32_t>(j), static_cast<int32_t>(token)};
          expected.push_back(h == 0 && (is_query ? j == token : support.contains(0, pair)));
        }
      }
      for_each_target([&] {
        CaseRun<float> run(c, p);
        run.forward();
        EXPECT_EQ(rows_with_nan(run.out(), 16), expected) << "token " << token;
      });
    }
  }
}

TEST(Numerics, a_nan_score_in_an_otherwise_excluded_row_is_not_hidden) {
  AttentionCase c = plain_case();
  c.bias = BiasKind::shared;
  const SupportSet support = c.make_support();
  OracleProblem p = make_problem(c, support);
  for (double& b : p.bias) b = -kInfinity;
  p.bias[20 * 76 + 0] = std::nan("");
  for_each_target([&] {
    CaseRun<double> run(c, p);
    run.forward();
    const std::vector<bool> rows = rows_with_nan(run.out(), 16);
    EXPECT_EQ(std::count(rows.begin(), rows.end(), true), 2);  // row 20 of both heads
    EXPECT_TRUE(rows[20] && rows[76 + 20]);
  });
}

TEST(Numerics, rows_without_keys_give_zeros_and_zero_gradients) {
  AttentionCase c{.batch = 2, .heads = 1, .patches = 40, .cls = 0, .dim = 8, .value_dim = 8};
  c.support = SupportKind::nothing;
  const SupportSet support = c.make_support();
  const OracleProblem p = make_problem(c, support);
  CaseRun<float> run(c, p);
  run.forward();
  run.backward(make_grad_out(p.shape));
  EXPECT_EQ(max_abs(run.out()), 0.0);
  for (double x : run.lse()) EXPECT_EQ(x, -kInfinity);
  EXPECT_EQ(max_abs(run.dq()) + max_abs(run.dk()) + max_abs(run.dv()), 0.0);
}

TEST(Numerics, an_empty_batch_is_no_work) {
  const SupportSet support(4, 1, {HeadPattern{0, {1}, false, {}}});
  const AttentionShape shape{0, 1, 5, 5, 8, 8};
  EXPECT_NO_THROW(attention_forward<float>(support, shape, {}, {}, nullptr));
  EXPECT_NO_THROW(attention_backward<float>(support, shape, {}, {}, nullptr, {}, {}));
}

TEST(Numerics, a_stride_of_zero_reads_one_row_for_all) {
  const SupportSet support(50, 1, {HeadPattern{0, {1, 3, 9}, true, {}}});
  const AttentionShape shape{1, 1, 51, 51, 24, 24};
  const std::vector<double> q = unit_numbers("q", 24), v = unit_numbers("v", 51 * 24);
  std::vector<double> out(v.size());
  attention_forward<double>(support, shape, {{q.data(), 0, 0, 0}, {q.data(), 0, 0, 0}, {v.data(), 0, 0, 24}},
                            {out.data(), 0, 0, 24}, nullptr);
  // All scores are equal, so a row is the mean of the values it reads.
  for (int64_t j = 0; j < 51; ++j) {
    const auto keys = support.keys_of_row(0, j);
    double mean = 0;
    for (int64_t k : keys) mean += v[static_cast<size_t>(k * 24 + 7)] / static_cast<double>(keys.size());
    EXPECT_NEAR(out[static_cast<size_t>(j * 24 + 7)], mean, 1e-14);
  }
}

}  // namespace
}  // namespace fib::test
