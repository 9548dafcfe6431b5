// SPDX-License-Identifier: Apache-2.0
#include "attention/equal_pairs.h"

#include <gtest/gtest.h>

#include <limits>

#include "files.h"

namespace fib::attention {
namespace {

constexpr PatternGeometry kSixHeads{.patches = 196, .cls = 1, .heads = 6};

AttentionSpec spec(const std::string& text) { return AttentionSpec::parse(text); }

PairCount over(const PatternGeometry& geometry) {
  return [geometry](const AttentionSpec& attention) { return patch_pairs(attention, geometry); };
}

EqualPairs matched(const std::string& attention, const std::string& target, const PatternGeometry& g = kSixHeads) {
  return with_equal_pairs(spec(attention), spec(target), g.patches, over(g));
}

TEST(EqualPairs, has_the_budgets_of_the_comparison_at_equal_pairs) {
  const std::pair<const char*, int64_t> rows[] = {{"longformer", 8160}, {"bigbird", 8160},   {"random", 8160},
                                                  {"topk", 8232},       {"linformer", 8232}, {"efficient", 8232}};
  for (const auto& [name, pairs] : rows) {
    const EqualPairs m = matched(name, "fibottention");
    EXPECT_EQ(m.wanted, 8160) << name;
    EXPECT_EQ(m.pairs, pairs) << name << ", " << m.attention.to_string();
    EXPECT_EQ(patch_pairs(m.attention, kSixHeads), m.pairs) << name;
  }
  EXPECT_EQ(matched("longformer", "fibottention").attention.to_string(), "longformer:w=3");
  EXPECT_EQ(matched("bigbird", "fibottention").attention.to_string(), "bigbird:random=774");
  EXPECT_EQ(matched("random", "fibottention").attention.to_string(), "random:ratio=0.9646");
  EXPECT_EQ(matched("sparse-transformer", "fibottention").attention.to_string(), "sparse-transformer:stride=18");
}

/// By trying every value.
std::string nearest_of_all(const std::string& name, const std::string& key, int64_t last, int64_t wanted) {
  std::string best;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int64_t value = 1; value <= last; ++value) {
    const std::string text = name + ":" + key + "=" + std::to_string(value);
    const int64_t away = std::abs(patch_pairs(spec(text), kSixHeads) - wanted);
    if (away < least) best = text;
    least = std::min(least, away);
  }
  return best;
}

TEST(EqualPairs, are_the_nearest_that_any_value_gives) {
  for (const auto& [name, key] : {std::pair{"local", "w"},
                                  {"sparse-transformer", "stride"},
                                  {"dilation-varying", "step"},
                                  {"powers-of-2", "w"},
                                  {"fib-wmin", "wmax"},
                                  {"fibottention-modified", "wmax"},
                                  {"topk", "k"}}) {
    const EqualPairs m = matched(name, "fibottention");
    const int64_t best = patch_pairs(spec(nearest_of_all(name, key, 196, m.wanted)), kSixHeads);
    EXPECT_EQ(std::abs(m.pairs - m.wanted), std::abs(best - m.wanted)) << m.attention.to_string();
  }
}

TEST(EqualPairs, of_every_mechanism_that_has_a_number_to_set_are_near_those_of_fibottention) {
  for (const MechanismInfo& m : mechanisms()) {
    if (pairs_option({m.name, {}}) == nullptr) continue;
    const EqualPairs found = matched(m.name, "fibottention", {});
    EXPECT_EQ(found.wanted, 9192) << m.name;
    if (found.attention.to_string() == "dilation-varying:step=1") continue;  // its fewest
    EXPECT_LE(std::abs(found.pairs - found.wanted), 12 * 196) << found.attention.to_string() << ", a step of a window";
  }
}

TEST(EqualPairs, keep_the_other_options_and_all_kinds_of_pairs) {
  EXPECT_EQ(matched("bigbird:w=2", "fibottention").pairs, 8160);
  EXPECT_EQ(matched("longformer:grid=3", "fibottention:grid=3").wanted,
            matched("longformer", "fibottention:grid=3").wanted);
  // Windows from 10 on: smaller ones are refused, which is no reason to stop there.
  EXPECT_GT(matched("fibottention:wmin=10", "local:w=3").pairs, 0);
}

TEST(EqualPairs, end_where_a_mechanism_can_have_no_more) {
  const EqualPairs all = matched("local", "full");
  EXPECT_EQ(all.attention.to_string(), "local:w=195");
  EXPECT_EQ(all.pairs, 6 * 196 * 195);
  EXPECT_EQ(all.wanted, 6 * 196 * 196);
  EXPECT_EQ(matched("bigbird", "full").pairs, all.wanted);
}

TEST(EqualPairs, refuse_what_sets_its_pairs_itself_or_cannot) {
  EXPECT_EQ(
      test::error_of([] { matched("longformer:w=3", "fibottention"); }),
      "pairs are matched by setting w of longformer, which 'longformer:w=3' sets itself: leave one of the two out");
  EXPECT_EQ(test::error_of([] { matched("full", "fibottention"); }),
            "pairs cannot be matched: full has no option that sets how many it has");
}

}  // namespace
}  // namespace fib::attention
