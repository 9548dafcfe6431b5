// SPDX-License-Identifier: Apache-2.0
#include "patterns/random_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

namespace fib {
namespace {

SupportSet make_drawn(const std::string& text, PatternGeometry g) {
  return make_support(AttentionSpec::parse(text), g);
}

}  // namespace

TEST(DrawSorted, is_ascending_distinct_and_in_range) {
  CounterRng rng(1);
  for (uint64_t total : {1, 2, 10, 100}) {
    for (uint64_t count = 0; count <= total; ++count) {
      const auto drawn = draw_sorted(count, total, rng);
      ASSERT_EQ(drawn.size(), count);
      EXPECT_EQ(std::adjacent_find(drawn.begin(), drawn.end(), std::greater_equal<>()), drawn.end());
      EXPECT_TRUE(drawn.empty() || drawn.back() < total);
    }
  }
}

TEST(DrawSorted, prefers_no_set) {
  CounterRng rng(2);
  for (uint64_t count : {2, 3}) {  // below and above half of five, ten sets each
    std::map<std::vector<uint64_t>, int> seen;
    for (int i = 0; i < 20000; ++i) ++seen[draw_sorted(count, 5, rng)];
    EXPECT_EQ(seen.size(), 10u);
    for (const auto& [set, times] : seen) EXPECT_NEAR(times, 2000, 215);
  }
}

TEST(RandomPairs, are_outside_the_window_and_as_many_as_asked) {
  const SupportSet set = make_drawn("bigbird:w=2,random=50", {.patches = 30, .cls = 1, .heads = 4});
  for (int64_t h = 0; h < 4; ++h) {
    EXPECT_EQ(set.head(h).pairs.size(), 50);
    for (const TokenPair& p : set.head(h).pairs.to_vector()) {
      EXPECT_GE(std::min(p.query, p.key), 1);
      EXPECT_GT(std::abs(p.query - p.key), 2);
    }
  }
}

TEST(RandomPairs, may_fill_all_that_remains) {
  for (bool causal : {false, true}) {
    const PatternGeometry g{.patches = 9, .cls = 1, .heads = 1, .causal = causal};
    const int64_t rest = causal ? 45 - 17 : 81 - 25;  // minus the window of one, diagonal included
    EXPECT_EQ(make_drawn("bigbird:random=" + std::to_string(rest), g).patch_pairs(), causal ? 45 : 81);
    EXPECT_THROW(make_drawn("bigbird:random=" + std::to_string(rest + 1), g), std::invalid_argument);
  }
}

/// The free pairs in reading order, by asking for each.
TEST(RandomPairs, are_the_free_pairs_of_the_drawn_ranks) {
  for (const bool causal : {false, true}) {
    for (const int64_t window : {1, 3, 7, 11}) {
      const PatternGeometry g{.patches = 12, .cls = 2, .heads = 1, .causal = causal};
      const std::string options = "bigbird:w=" + std::to_string(window) + ",random=";
      const SupportSet structure = make_drawn(options + "0", g);
      std::vector<TokenPair> free;
      for (int32_t q = 2; q < 14; ++q)
        for (int32_t k = 2; k < (causal ? q + 1 : 14); ++k)
          if (!structure.contains(0, {q, k})) free.push_back({q, k});
      for (size_t count = 0; count <= free.size(); ++count) {
        CounterRng rng(0, {1, 0, 0});
        std::vector<TokenPair> expected;
        for (const uint64_t rank : draw_sorted(count, free.size(), rng)) expected.push_back(free[rank]);
        EXPECT_EQ(make_drawn(options + std::to_string(count), g).head(0).pairs.to_vector(), expected);
      }
    }
  }
}

/// A walk over what each row sees would take minutes.
TEST(RandomPairs, beside_a_window_of_thousands_over_a_million_tokens_take_a_moment) {
  const SupportSet set = make_drawn("bigbird:w=30000,random=5", {.patches = 1 << 20, .cls = 0, .heads = 1});
  EXPECT_EQ(set.head(0).pairs.size(), 5);
}

TEST(RandomPairs, cover_every_free_pair_in_the_long_run) {
  std::map<std::pair<int, int>, int> seen;
  for (int64_t layer = 0; layer < 3000; ++layer) {
    const SupportSet set = make_drawn("bigbird:random=3", {.patches = 6, .cls = 0, .heads = 1, .layer = layer});
    for (const TokenPair& p : set.head(0).pairs.to_vector()) ++seen[{p.query, p.key}];
  }
  EXPECT_EQ(seen.size(), 20u);  // 36 less the window's 16
  for (const auto& [pair, times] : seen) EXPECT_NEAR(times, 450, 100);
}

TEST(RandomPairs, depend_on_seed_layer_and_head_alone) {
  const PatternGeometry g{.patches = 50, .cls = 1, .heads = 3, .layer = 2};
  const auto draw = [](const std::string& text, const PatternGeometry& geometry, int64_t head) {
    return make_drawn(text, geometry).head(head).pairs.to_vector();
  };
  const auto base = draw("random:seed=1", g, 0);
  EXPECT_EQ(base, draw("random:seed=1", g, 0));
  PatternGeometry more_heads = g, other_layer = g;
  more_heads.heads = 7;
  other_layer.layer = 3;
  EXPECT_EQ(base, draw("random:seed=1", more_heads, 0));
  EXPECT_NE(base, draw("random:seed=1", other_layer, 0));
  EXPECT_NE(base, draw("random:seed=2", g, 0));
  EXPECT_NE(base, draw("random:seed=1", g, 1));
}

TEST(RandomPairs, without_a_layer_are_those_of_layer_zero) {
  const PatternGeometry none{.patches = 20, .heads = 1}, zero{.patches = 20, .heads = 1, .layer = 0};
  EXPECT_EQ(make_drawn("random", none).head(0).pairs.to_vector(), make_drawn("random", zero).head(0).pairs.to_vector());
}

}  // namespace fib
