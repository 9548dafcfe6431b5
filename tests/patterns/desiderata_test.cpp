// SPDX-License-Identifier: Apache-2.0
#include "patterns/desiderata.h"

#include <gtest/gtest.h>

#include <set>

namespace fib {
namespace {

constexpr int64_t kPatches = 30, kHeads = 3;

PatternGeometry geometry(bool causal, std::optional<int64_t> layer = std::nullopt) {
  return {.patches = kPatches, .cls = 1, .heads = kHeads, .layer = layer, .causal = causal, .grid = PatchGrid{5, 6}};
}

/// All supports of the registry, and those of options that make other masks.
std::vector<std::string> specs() {
  std::vector<std::string> list = {"fibottention:bands=cross",  "fibottention-modified:heads=same",
                                   "longformer:w=2,dilation=3", "fibottention:grid=3",
                                   "bigbird:w=2,grid=5",        "fibottention:wmin=1,wmax=25,grid=7"};
  for (const PatternInfo& info : pattern_registry()) list.push_back(info.name);
  return list;
}

/// How many heads keep each pair of patch tokens, looked at one by one.
std::vector<std::vector<int>> heads_of_pairs(const SupportSet& s) {
  const auto n = static_cast<size_t>(s.patches());
  std::vector<std::vector<int>> count(n, std::vector<int>(n, 0));
  for (int64_t h = 0; h < s.num_heads(); ++h)
    for (size_t q = 0; q < n; ++q)
      for (size_t k = 0; k < n; ++k)
        count[q][k] += s.contains(h, {static_cast<int32_t>(s.cls() + static_cast<int64_t>(q)),
                                      static_cast<int32_t>(s.cls() + static_cast<int64_t>(k))})
                           ? 1
                           : 0;
  return count;
}

int64_t shared_by_walking(const SupportSet& s, int64_t a, int64_t b) {
  int64_t count = 0;
  for (int32_t q = static_cast<int32_t>(s.cls()); q < s.query_tokens(); ++q)
    for (int32_t k = static_cast<int32_t>(s.cls()); k < s.key_tokens(); ++k)
      count += s.contains(a, {q, k}) && s.contains(b, {q, k}) ? 1 : 0;
  return count;
}

TEST(Overlap, counts_the_pairs_that_two_heads_share) {
  for (const std::string& spec : specs()) {
    for (bool causal : {false, true}) {
      const SupportSet s = make_support(AttentionSpec::parse(spec), geometry(causal));
      for (int64_t a = 0; a < kHeads; ++a)
        for (int64_t b = 0; b < kHeads; ++b) EXPECT_EQ(shared_pairs(s, a, b), shared_by_walking(s, a, b)) << spec;
    }
  }
}

TEST(Desiderata, count_what_walking_over_all_pairs_counts) {
  for (const std::string& spec : specs()) {
    for (bool causal : {false, true}) {
      SCOPED_TRACE(spec);
      const SupportSet s = make_support(AttentionSpec::parse(spec), geometry(causal));
      int64_t in_union = 0, most = 0;
      for (const auto& row : heads_of_pairs(s)) {
        for (const int heads : row) {
          in_union += heads > 0 ? 1 : 0;
          most = std::max<int64_t>(most, heads);
        }
      }
      const auto d = desiderata(s);
      ASSERT_TRUE(d.has_value());
      EXPECT_EQ(d->union_pairs, in_union);
      EXPECT_EQ(d->most_heads_of_a_pair, most);
      EXPECT_LE(d->mean_overlap, d->greatest_overlap + 1e-12);
      EXPECT_EQ(d->rows_without_key, 0) << "the class token is a key of all";
    }
  }
}

/// Sets of tokens, merged one by one.
std::vector<double> reach_by_walking(const std::vector<SupportSet>& layers, int64_t first, int64_t last) {
  const auto n = static_cast<size_t>(layers.front().patches());
  const int64_t cls = layers.front().cls();
  std::vector<std::set<size_t>> known(n);
  for (size_t t = 0; t < n; ++t) known[t].insert(t);
  std::vector<double> shares;
  for (const SupportSet& s : layers) {
    const auto before = known;
    size_t total = 0;
    for (size_t q = 0; q < n; ++q) {
      for (int64_t h = first; h < last; ++h)
        for (const int64_t key : s.keys_of_row(h, cls + static_cast<int64_t>(q)))
          if (key >= cls)
            known[q].insert(before[static_cast<size_t>(key - cls)].begin(),
                            before[static_cast<size_t>(key - cls)].end());
      total += known[q].size();
    }
    shares.push_back(static_cast<double>(total) / static_cast<double>(n * n));
  }
  return shares;
}

TEST(Reach, is_what_merging_sets_of_tokens_gives) {
  constexpr int64_t kLayers = 4;
  for (const std::string& spec : specs()) {
    SCOPED_TRACE(spec);
    const auto support_of = [&](int64_t layer) {
      return make_support(AttentionSpec::parse(spec), geometry(false, layer));
    };
    std::vector<SupportSet> layers;
    for (int64_t l = 0; l < kLayers; ++l) layers.push_back(support_of(l));
    const auto found = reach(support_of, kLayers);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->all_heads, reach_by_walking(layers, 0, kHeads));
    std::vector<double> mean(kLayers, 0.0);
    for (int64_t h = 0; h < kHeads; ++h) {
      const auto own = reach_by_walking(layers, h, h + 1);
      for (size_t l = 0; l < own.size(); ++l) mean[l] += own[l] / static_cast<double>(kHeads);
    }
    for (size_t l = 0; l < mean.size(); ++l) EXPECT_NEAR(found->one_head[l], mean[l], 1e-12);
  }
}

TEST(Reach, of_one_head_grows_faster_where_layers_permute_heads) {
  const auto after = [](const std::string& spec) {
    const auto support_of = [&](int64_t layer) {
      return make_support(AttentionSpec::parse(spec), {.patches = 196, .cls = 1, .heads = 12, .layer = layer});
    };
    return reach(support_of, 4)->one_head.back();
  };
  EXPECT_GT(after("fibottention"), after("fibottention:permute=none"));
}

TEST(Desiderata, count_summaries_in_every_head) {
  const SupportSet own = make_support(AttentionSpec::parse("fibottention"), geometry(false));
  const auto with = [](int64_t layer) {
    return make_support(AttentionSpec::parse("fibottention:summaries=2x3"), geometry(false, layer));
  };
  EXPECT_EQ(desiderata(with(0))->union_pairs, desiderata(own)->union_pairs + 6 * kPatches);
  EXPECT_EQ(desiderata(with(0))->most_heads_of_a_pair, kHeads);
  EXPECT_EQ(shared_pairs(with(0), 0, 0), with(0).patch_pairs(0));
  EXPECT_EQ(reach(with, 1)->one_head.front(), 1.0) << "the means of all tiles hold something of every patch";
}

TEST(Desiderata, are_not_counted_where_they_would_take_minutes) {
  EXPECT_FALSE(desiderata(make_support({"fibottention", {}}, {.patches = 4097})).has_value());
  EXPECT_FALSE(desiderata(make_support({"fibottention", {}}, {.patches = 100, .heads = 65})).has_value());
  EXPECT_FALSE(reach([](int64_t) { return make_support({"local", {}}, {.patches = 1025}); }, 2).has_value());
}

}  // namespace
}  // namespace fib
