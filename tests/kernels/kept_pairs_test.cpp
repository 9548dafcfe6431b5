// SPDX-License-Identifier: Apache-2.0
// Which calls keep their pairs from the gradients of queries to those of keys, and that this changes nothing.
#include "kernels/kept_pairs.h"

#include "kernels/class_tokens.h"
#include "oracle/case_run.h"

namespace fib::test {
namespace {

kernels::KeptPairsPlan plan(const SupportSet& support, int64_t batch, Masking masking = Masking::exclude) {
  kernels::SupportCall<float> call;
  call.support = &support;
  call.shape = {batch, support.num_heads(), support.query_tokens(), support.key_tokens(), 64, 64};
  call.options.masking = masking;
  call.query_chunks = kernels::class_chunks(support.query_tokens(), support.cls());
  return kernels::plan_kept_pairs(call);
}

SupportSet offsets(int64_t heads, int64_t patches, int64_t cls, std::vector<TokenPair> pairs = {}) {
  std::vector<HeadPattern> patterns(static_cast<size_t>(heads), HeadPattern{0, {1, 2, 3}, true, pairs});
  return SupportSet(patches, cls, patterns);
}

TEST(KeptPairs, have_room_for_all_of_a_head) {
  for (const int64_t cls : {0, 1, 2}) {
    for (const int64_t patches : {5, 50, 500}) {
      const SupportSet support = offsets(3, patches, cls);
      EXPECT_GE(plan(support, 1).rows * support.query_tokens(), support.pairs(0)) << cls << ' ' << patches;
    }
  }
}

/// How many are many is a matter of the machine; that more stay many is not.
TEST(KeptPairs, a_task_is_a_head_where_there_are_many) {
  EXPECT_FALSE(plan(offsets(1, 50, 1), 1).by_heads);
  bool many = false;
  for (int64_t batch = 1; batch <= 256; batch *= 2) {
    const bool by_heads = plan(offsets(12, 50, 1), batch).by_heads;
    EXPECT_GE(by_heads, many) << batch;
    many = by_heads;
  }
  EXPECT_TRUE(many);
}

TEST(KeptPairs, of_longer_heads_fewer_are_kept_at_a_time) {
  const int64_t shortest = plan(offsets(12, 784, 1), 1).heads_at_once;
  EXPECT_LE(shortest, 12);
  int64_t before = shortest;
  for (int64_t patches = 1568; patches < 100'000; patches *= 2) {
    const int64_t heads = plan(offsets(12, patches, 1), 1).heads_at_once;
    EXPECT_GE(heads, 1) << patches;
    EXPECT_LE(heads, before) << patches;
    before = heads;
  }
  EXPECT_LT(before, shortest);
}

TEST(KeptPairs, none_where_those_of_one_head_would_fill_the_memory) {
  EXPECT_GT(plan(offsets(1, 50'000, 1), 1).rows, 0);
  EXPECT_EQ(plan(offsets(1, 50'000'000, 1), 1).rows, 0);
}

TEST(KeptPairs, none_of_explicit_pairs_or_with_masking_zero) {
  EXPECT_EQ(plan(offsets(2, 50, 1, {{7, 30}}), 1).rows, 0);
  EXPECT_EQ(plan(offsets(2, 50, 1), 1, Masking::zero).rows, 0);
}

/// A bias gradient makes the keys compute their pairs again; a bias of zero changes no score.
void expect_same_as_computed_again(AttentionCase c) {
  const SupportSet support = c.make_support();
  const OracleProblem plain = make_problem(c, support);
  const std::vector<double> grad_out = make_grad_out(plain.shape);
  AttentionCase with_bias = c;
  with_bias.bias = BiasKind::shared;
  OracleProblem zero = make_problem(with_bias, support);
  std::fill(zero.bias.begin(), zero.bias.end(), 0.0);
  for_each_target([&] {
    const CaseResults kept = run_case<float>(c, plain, grad_out), again = run_case<float>(with_bias, zero, grad_out);
    EXPECT_EQ(max_difference(kept.dq, again.dq), 0.0);
    EXPECT_EQ(max_difference(kept.dk, again.dk), 0.0);
    EXPECT_EQ(max_difference(kept.dv, again.dv), 0.0);
  });
}

TEST(KeptPairs, give_to_the_bit_what_computing_them_again_gives) {
  AttentionCase c{.batch = 2, .heads = 3, .patches = 300, .cls = 2, .dim = 64, .value_dim = 64};
  expect_same_as_computed_again(c);
  c.causal = true, c.dropout = 0.3, c.lengths = true;
  expect_same_as_computed_again(c);
  c.batch = 22, c.patches = 50;
  expect_same_as_computed_again(c);
}

}  // namespace
}  // namespace fib::test
