// SPDX-License-Identifier: Apache-2.0
// Results do not depend on who computes them.
#include <omp.h>

#include "oracle/case_run.h"

namespace fib::test {
namespace {

/// Everything a case yields, one array after another.
template <class T>
std::vector<double> everything(const AttentionCase& c, const OracleProblem& p, int threads) {
  omp_set_num_threads(threads);
  return run_case<T>(c, p, make_grad_out(p.shape)).all();
}

template <class T>
void expect_equal_bits(const AttentionCase& c) {
  const SupportSet support = c.make_support();
  const OracleProblem p = make_problem(c, support);
  const int before = omp_get_max_threads();
  const std::vector<double> one = everything<T>(c, p, 1);
  for (int threads : {2, 7}) EXPECT_EQ(max_difference(everything<T>(c, p, threads), one), 0.0) << threads << " threads";
  omp_set_num_threads(before);
}

std::vector<AttentionCase> thread_cases() {
  AttentionCase plain{.batch = 2, .heads = 3, .patches = 700, .cls = 2, .dim = 32, .value_dim = 32};
  AttentionCase packed = plain, bias = plain, shared = plain, zero = plain, random = plain, single = plain,
                many = plain;
  packed.layout = Layout::packed;
  bias.bias = BiasKind::grouped, bias.dropout = 0.2, bias.batch = 4;
  shared.bias = BiasKind::shared, shared.lengths = true;
  zero.masking = Masking::zero;
  random.support = SupportKind::bigbird;
  single.batch = single.heads = 1, single.patches = 5000, single.cls = 9, single.dim = single.value_dim = 8;
  many.batch = 8, many.heads = 9, many.patches = 150, many.dim = many.value_dim = 64;
  plain.name = "plain", packed.name = "packed", bias.name = "bias_and_dropout", shared.name = "shared_bias_and_lengths";
  zero.name = "zero_masking", random.name = "explicit_pairs", single.name = "one_long_head_with_many_class_tokens";
  many.name = "many_heads";
  AttentionCase neighbors = on_grid(plain, {25, 28}, 3), summaries = on_grid(plain, {25, 28}, 3, {4, 4}),
                many_summaries = on_grid(many, {12, 13}, 3, {4, 4}), lists = on_grid(random, {25, 28}, 3, {4, 4});
  neighbors.name = "neighbors", summaries.name = "summaries", many_summaries.name = "many_heads_with_summaries";
  lists.name = "explicit_pairs_with_summaries";
  return {plain, packed, bias, shared, zero, random, single, many, neighbors, summaries, many_summaries, lists};
}

class Threads : public testing::TestWithParam<AttentionCase> {};

TEST_P(Threads, do_not_change_a_bit_of_float32) { expect_equal_bits<float>(GetParam()); }
TEST_P(Threads, do_not_change_a_bit_of_float64) { expect_equal_bits<double>(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Attention, Threads, testing::ValuesIn(thread_cases()), case_name);

}  // namespace
}  // namespace fib::test
