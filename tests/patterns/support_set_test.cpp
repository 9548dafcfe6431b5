// SPDX-License-Identifier: Apache-2.0
// SupportSet against the obvious: a dense matrix of booleans.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "fibottention/pattern.h"

namespace fib {
namespace {

struct Dense {
  int64_t queries, keys, cls;
  std::vector<char> on;

  char& at(int64_t q, int64_t k) { return on[static_cast<size_t>(q * keys + k)]; }
  int64_t row_pairs(int64_t q) {
    int64_t n = 0;
    for (int64_t k = 0; k < keys; ++k) n += at(q, k);
    return n;
  }
};

bool in_head(const HeadPattern& h, int64_t cls, int64_t q, int64_t k) {
  if (q < cls || k < cls) return true;
  if (q == k && h.diagonal) return true;
  for (int64_t o : h.offsets) {
    if (q - k == o || k - q == o) return true;
  }
  for (const TokenPair& p : h.pairs) {
    if (p.query == q && p.key == k) return true;
  }
  return false;
}

Dense dense_of(const HeadPattern& h, int64_t patches, int64_t cls, bool causal) {
  const int64_t t = cls + patches;
  Dense d{t, t, cls, std::vector<char>(static_cast<size_t>(t * t))};
  for (int64_t q = 0; q < t; ++q) {
    for (int64_t k = 0; k < t; ++k) d.at(q, k) = in_head(h, cls, q, k) && !(causal && k > q);
  }
  return d;
}

HeadPattern random_head(CounterRng& rng, int64_t patches, int64_t cls) {
  HeadPattern h;
  h.diagonal = rng.below(2) == 1;
  for (int64_t o = 1; o < patches; ++o) {
    if (rng.below(4) == 0) h.offsets.push_back(o);
  }
  const uint64_t tokens = static_cast<uint64_t>(patches + cls);
  for (uint64_t n = rng.below(8); n > 0; --n) {
    h.pairs.push_back({static_cast<int32_t>(rng.below(tokens)), static_cast<int32_t>(rng.below(tokens))});
  }
  return h;
}

void expect_same(const SupportSet& set, int64_t head, Dense d) {
  int64_t pairs = 0, patch_pairs = 0;
  std::vector<int64_t> empty;
  for (int64_t q = 0; q < d.queries; ++q) {
    std::vector<int64_t> keys;
    for (int64_t k = 0; k < d.keys; ++k) {
      const TokenPair p{static_cast<int32_t>(q), static_cast<int32_t>(k)};
      ASSERT_EQ(set.contains(head, p), d.at(q, k) != 0) << q << " " << k;
      if (d.at(q, k)) keys.push_back(k);
      patch_pairs += q >= d.cls && k >= d.cls && d.at(q, k);
    }
    ASSERT_EQ(set.keys_of_row(head, q), keys) << q;
    if (keys.empty()) empty.push_back(q);
    pairs += d.row_pairs(q);
  }
  EXPECT_EQ(set.pairs(head), pairs);
  EXPECT_EQ(set.patch_pairs(head), patch_pairs);
  EXPECT_EQ(set.empty_rows(head), empty);
}

}  // namespace

TEST(SupportSet, is_the_dense_matrix_it_stands_for) {
  CounterRng rng(11);
  for (int round = 0; round < 400; ++round) {
    const int64_t patches = 1 + static_cast<int64_t>(rng.below(14)), cls = static_cast<int64_t>(rng.below(3));
    const bool causal = rng.below(2) == 1;
    std::vector<HeadPattern> heads;
    for (uint64_t h = 0; h <= rng.below(3); ++h) heads.push_back(random_head(rng, patches, cls));
    const SupportSet set(patches, cls, heads, causal);
    ASSERT_EQ(set.num_heads(), static_cast<int64_t>(heads.size()));
    for (size_t h = 0; h < heads.size(); ++h) {
      expect_same(set, static_cast<int64_t>(h), dense_of(heads[h], patches, cls, causal));
    }
  }
}

TEST(SupportSet, rectangular_is_its_pairs) {
  CounterRng rng(12);
  for (int round = 0; round < 100; ++round) {
    const int64_t q = 1 + static_cast<int64_t>(rng.below(9)), k = 1 + static_cast<int64_t>(rng.below(9));
    Dense d{q, k, 0, std::vector<char>(static_cast<size_t>(q * k))};
    std::vector<TokenPair> pairs;
    for (uint64_t n = rng.below(20); n > 0; --n) {
      pairs.push_back({static_cast<int32_t>(rng.below(static_cast<uint64_t>(q))),
                       static_cast<int32_t>(rng.below(static_cast<uint64_t>(k)))});
      d.at(pairs.back().query, pairs.back().key) = 1;
    }
    const SupportSet set = SupportSet::rectangular(q, k, {pairs});
    expect_same(set, 0, d);
    EXPECT_NEAR(set.pruning_ratio(), 1.0 - static_cast<double>(set.pairs()) / static_cast<double>(q * k), 1e-15);
  }
}

TEST(SupportSet, permuted_moves_whole_heads) {
  CounterRng rng(13);
  std::vector<HeadPattern> heads;
  for (int h = 0; h < 5; ++h) heads.push_back(random_head(rng, 9, 1));
  const std::vector<int64_t> order = {3, 0, 4, 1, 2};
  const SupportSet set = SupportSet(9, 1, heads).permuted(order);
  for (size_t h = 0; h < order.size(); ++h) {
    expect_same(set, static_cast<int64_t>(h), dense_of(heads[static_cast<size_t>(order[h])], 9, 1, false));
  }
}

TEST(SupportSet, permuted_refuses_anything_but_a_permutation) {
  const SupportSet set(4, 0, std::vector<HeadPattern>(3));
  EXPECT_THROW(set.permuted({0, 1}), std::invalid_argument);
  EXPECT_THROW(set.permuted({0, 1, 1}), std::invalid_argument);
  EXPECT_THROW(set.permuted({0, 1, 3}), std::invalid_argument);
}

TEST(SupportSet, queries_of_a_key_mirror_keys_of_a_query) {
  const PairList list(3, 4, {{2, 0}, {0, 3}, {2, 0}, {1, 3}, {0, 1}});
  EXPECT_EQ(list.size(), 4);
  EXPECT_EQ(list.to_vector(), (std::vector<TokenPair>{{0, 1}, {0, 3}, {1, 3}, {2, 0}}));
  EXPECT_EQ(std::vector<int32_t>(list.queries_of(3).begin(), list.queries_of(3).end()), (std::vector<int32_t>{0, 1}));
  EXPECT_TRUE(list.queries_of(2).empty());
}

TEST(SupportSet, refuses_what_does_not_fit) {
  const std::vector<HeadPattern> one(1);
  EXPECT_THROW(SupportSet(0, 1, one), std::invalid_argument);
  EXPECT_THROW(SupportSet(-4, 1, one), std::invalid_argument);
  EXPECT_THROW(SupportSet(4, -1, one), std::invalid_argument);
  EXPECT_THROW(SupportSet(4, 1, {}), std::invalid_argument);
  EXPECT_THROW(SupportSet(4, 1, {{1, {4}, false, {}}}), std::invalid_argument);
  EXPECT_THROW(SupportSet(4, 1, {{1, {0}, false, {}}}), std::invalid_argument);
  EXPECT_THROW(SupportSet(4, 1, {{1, {2, 2}, false, {}}}), std::invalid_argument);
  EXPECT_THROW(SupportSet(4, 0, {{1, {}, false, {{4, 0}}}}), std::invalid_argument);
  EXPECT_THROW(SupportSet::rectangular(2, 2, {{{0, 2}}}), std::invalid_argument);
  EXPECT_THROW(SupportSet(4, 0, one).keys_of_row(0, 4), std::invalid_argument);
}

}  // namespace fib
