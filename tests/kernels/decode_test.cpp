// SPDX-License-Identifier: Apache-2.0
#include "kernels/decode.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "oracle/attention_oracle.h"

namespace fib::kernels {
namespace {

constexpr int64_t kHeads = 3, kTokens = 300, kDim = 20;

std::vector<double> noise(uint64_t key) {
  CounterRng rng(7, {key});
  std::vector<double> values(kHeads * kTokens * kDim);
  for (double& value : values) value = static_cast<double>(static_cast<float>(standard_normal(rng)));
  return values;
}

struct Problem {
  std::vector<double> q = noise(1), k = noise(2), v = noise(3);
  std::vector<std::vector<int64_t>> distances = {{1, 2, 3, 5, 8, 13, 21, 34, 55}, {4, 7, 11, 18, 29, 47}, {0, 60}};

  /// What the oracle says of all tokens at once, [H,T,d].
  std::vector<double> expected(const SupportSet& support) const {
    test::OracleProblem problem{.support = &support, .shape = {1, kHeads, kTokens, kTokens, kDim, kDim}};
    problem.q = q, problem.k = k, problem.v = v;
    problem.scale = 0.3;
    return test::oracle_forward(problem).out;
  }
};

/// Tokens one after another, through a cache of `rows` rows; `run` computes a step.
template <class Run>
void expect_steps(const Problem& p, const std::vector<double>& expected, int64_t rows, const Run& run) {
  std::vector<float> q(kHeads * kDim), out(kHeads * kDim), k(static_cast<size_t>(kHeads * rows * kDim), NAN), v = k;
  for (int64_t t = 0; t < kTokens; ++t) {
    for (int64_t h = 0; h < kHeads; ++h) {
      for (int64_t c = 0; c < kDim; ++c) {
        const auto from = static_cast<size_t>((h * kTokens + t) * kDim + c);
        const auto to = static_cast<size_t>((h * rows + t % rows) * kDim + c);
        q[static_cast<size_t>(h * kDim + c)] = static_cast<float>(p.q[from]);
        k[to] = static_cast<float>(p.k[from]);
        v[to] = static_cast<float>(p.v[from]);
      }
    }
    run(DecodeStep{kHeads, rows, kDim, t, 0.3F, q.data(), k.data(), v.data(), out.data()});
    for (int64_t h = 0; h < kHeads; ++h)
      for (int64_t c = 0; c < kDim; ++c)
        ASSERT_NEAR(static_cast<double>(out[static_cast<size_t>(h * kDim + c)]),
                    expected[static_cast<size_t>((h * kTokens + t) * kDim + c)], 1e-5)
            << "token " << t << ", head " << h;
  }
}

/// A cache of no more rows than are looked back at holds all that is needed; what was never written is NaN.
TEST(DecodeStep, at_distances_equals_the_oracle_at_all_lengths_from_1_to_300) {
  const Problem p;
  std::vector<HeadPattern> heads(kHeads);
  for (size_t h = 0; h < heads.size(); ++h) {
    heads[h].diagonal = p.distances[h].front() == 0;
    heads[h].offsets.assign(p.distances[h].begin() + (heads[h].diagonal ? 1 : 0), p.distances[h].end());
  }
  const SupportSet support(kTokens, 0, heads, true);
  for (const int64_t rows : {int64_t{61}, int64_t{100}, kTokens})
    expect_steps(p, p.expected(support), rows, [&](const DecodeStep& s) { decode_at_distances(s, p.distances); });
}

TEST(DecodeStep, of_everything_equals_the_oracle_at_all_lengths_from_1_to_300) {
  const Problem p;
  HeadPattern all{kTokens, {}, true, {}};
  for (int64_t o = 1; o < kTokens; ++o) all.offsets.push_back(o);
  const SupportSet support(kTokens, 0, std::vector<HeadPattern>(kHeads, all), true);
  expect_steps(p, p.expected(support), kTokens, [](const DecodeStep& s) { decode_everything(s); });
}

/// A full ring holds a window of the latest tokens.
TEST(DecodeStep, of_everything_in_a_ring_is_a_window) {
  const Problem p;
  HeadPattern window{9, {1, 2, 3, 4, 5, 6, 7, 8, 9}, true, {}};
  const SupportSet support(kTokens, 0, std::vector<HeadPattern>(kHeads, window), true);
  expect_steps(p, p.expected(support), 10, [](const DecodeStep& s) { decode_everything(s); });
}

TEST(DecodeStep, gives_zeros_where_there_is_nothing_to_see) {
  const std::vector<float> ones(4, 1);
  std::vector<float> out(4, 7);
  decode_at_distances({1, 1, 4, 0, 1, ones.data(), ones.data(), ones.data(), out.data()},
                      std::vector<std::vector<int64_t>>{{1, 2}});
  EXPECT_EQ(out, std::vector<float>(4, 0));
}

}  // namespace
}  // namespace fib::kernels
