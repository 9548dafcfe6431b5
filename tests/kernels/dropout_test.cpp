// SPDX-License-Identifier: Apache-2.0
#include "kernels/dropout.h"

#include "oracle/case_run.h"

namespace fib::test {
namespace {

using kernels::DropoutStream;

TEST(Dropout, drops_the_asked_share_of_pairs) {
  const uint32_t threshold = kernels::dropout_threshold(0.1);
  int64_t dropped = 0, count = 0;
  for (int64_t head = 0; head < 4; ++head) {
    const DropoutStream stream(7, 0, head);
    for (int64_t q = 0; q < 500; ++q) {
      for (int64_t k = 0; k < 500; ++k, ++count) dropped += stream.bits(q, k) < threshold;
    }
  }
  const double sigma = std::sqrt(0.1 * 0.9 * static_cast<double>(count));
  EXPECT_NEAR(static_cast<double>(dropped), 0.1 * static_cast<double>(count), 5 * sigma);
}

/// How often two streams of bits agree on being below one half.
double agreement(const std::function<uint32_t(int64_t)>& a, const std::function<uint32_t(int64_t)>& b, int64_t count) {
  int64_t equal = 0;
  for (int64_t i = 0; i < count; ++i) equal += (a(i) >> 31) == (b(i) >> 31);
  return static_cast<double>(equal) / static_cast<double>(count);
}

TEST(Dropout, neighbouring_rows_keys_heads_samples_and_seeds_are_independent) {
  const DropoutStream s(1, 2, 3), head(1, 2, 4), sample(1, 3, 3), seed(2, 2, 3);
  constexpr int64_t kCount = 200000;
  const auto row = [&](const DropoutStream& stream, int64_t shift) {
    return [stream, shift](int64_t i) { return stream.bits(i / 400, i % 400 + shift); };
  };
  const double five_sigma = 5 * 0.5 / std::sqrt(static_cast<double>(kCount));
  const auto column = [&](int64_t i) { return s.bits(i / 400 + 1, i % 400); };
  const auto transposed = [&](int64_t i) { return s.bits(i % 400, i / 400); };
  EXPECT_NEAR(agreement(row(s, 0), row(s, 1), kCount), 0.5, five_sigma);
  EXPECT_NEAR(agreement(row(s, 0), column, kCount), 0.5, five_sigma);
  EXPECT_NEAR(agreement(row(s, 0), transposed, 159600), 0.5, 2 * five_sigma);
  EXPECT_NEAR(agreement(row(s, 0), row(head, 0), kCount), 0.5, five_sigma);
  EXPECT_NEAR(agreement(row(s, 0), row(sample, 0), kCount), 0.5, five_sigma);
  EXPECT_NEAR(agreement(row(s, 0), row(seed, 0), kCount), 0.5, five_sigma);
}

TEST(Dropout, keeps_the_expected_output) {
  AttentionCase c{.batch = 1, .heads = 1, .patches = 60, .cls = 1, .dim = 8, .value_dim = 4};
  const SupportSet support = c.make_support();
  const OracleProblem p = make_problem(c, support);
  c.dropout = 0.4;
  std::vector<double> mean(p.v.size(), 0.0);
  constexpr int kDraws = 4000;
  for (int seed = 0; seed < kDraws; ++seed) {
    CaseRun<float> run(c, p);
    run.options().dropout_seed = static_cast<uint64_t>(seed);
    run.forward();
    const std::vector<double> out = run.out();
    for (size_t i = 0; i < out.size(); ++i) mean[i] += out[i] / kDraws;
  }
  EXPECT_LE(max_difference(mean, oracle_forward(p).out), 0.08);
}

/// With v a one-hot row per token, out shows each kept pair, and dv = dropped pᵀ dout shows it from the other side.
TEST(Dropout, backward_drops_the_pairs_that_forward_dropped) {
  AttentionCase c{.batch = 1, .heads = 2, .patches = 47, .cls = 1, .dim = 4, .value_dim = 48};
  c.support = SupportKind::bigbird;
  c.dropout = 0.5;
  const SupportSet support = c.make_support();
  OracleProblem p = make_problem(c, support);
  std::vector<double> one_hot(p.v.size(), 0.0);
  for (size_t t = 0; t < 96; ++t) one_hot[t * 48 + t % 48] = 1.0;
  p.v = one_hot;
  CaseRun<double> run(c, p);
  run.forward();
  run.backward(one_hot);
  const std::vector<double> out = run.out(), dv = run.dv();
  int64_t kept = 0;
  for (size_t h = 0; h < 2; ++h) {
    for (size_t j = 0; j < 48; ++j) {
      for (size_t k = 0; k < 48; ++k) {
        const double forward = out[(h * 48 + j) * 48 + k], backward = dv[(h * 48 + k) * 48 + j];
        EXPECT_NEAR(forward, backward, 1e-14);
        kept += forward != 0;
      }
    }
  }
  EXPECT_GT(kept, support.pairs() / 3);
  EXPECT_LT(kept, 2 * support.pairs() / 3);
}

}  // namespace
}  // namespace fib::test
