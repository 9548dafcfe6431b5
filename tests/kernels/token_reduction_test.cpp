// SPDX-License-Identifier: Apache-2.0
#include "kernels/token_reduction.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <stdexcept>

#include "fibottention/attention.h"
#include "oracle/token_oracle.h"

namespace fib::kernels {
namespace {

struct Keys {
  int64_t heads, tokens, dim;
  std::vector<float> values;

  Keys(int64_t h, int64_t t, int64_t d, uint32_t seed)
      : heads(h), tokens(t), dim(d), values(static_cast<size_t>(h * t * d)) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (float& value : values) value = normal(random);
  }

  std::vector<float> plan(int64_t merged, int64_t cls) const {
    std::vector<float> places(static_cast<size_t>(tokens));
    plan_merging<float>({values.data(), heads, tokens, dim, tokens * dim, dim}, merged, cls, places);
    return places;
  }
  std::vector<double> oracle(int64_t merged, int64_t cls) const {
    return test::oracle_plan_merging(tokens, dim, merged, cls, [this](int64_t t, int64_t c) {
      double sum = 0;
      for (int64_t h = 0; h < heads; ++h)
        sum += static_cast<double>(values[static_cast<size_t>((h * tokens + t) * dim + c)]);
      return sum;
    });
  }
};

std::vector<double> doubles(const std::vector<float>& values) { return {values.begin(), values.end()}; }

TEST(TokenPlans, merge_what_the_oracle_merges_on_every_target) {
  for (const std::string& target : simd_targets()) {
    set_simd_target(target);
    for (const int64_t tokens : {3, 8, 33, 197}) {
      const Keys keys(3, tokens, 20, static_cast<uint32_t>(tokens));
      for (const int64_t merged : {int64_t{0}, int64_t{1}, (tokens - 1) / 4, (tokens - 1) / 2})
        EXPECT_EQ(doubles(keys.plan(merged, 1)), keys.oracle(merged, 1)) << target << " " << tokens << " " << merged;
    }
  }
  set_simd_target("");
}

TEST(TokenPlans, merge_no_class_token) {
  const Keys keys(2, 21, 8, 1);
  for (const int64_t cls : {0, 1, 2, 3}) {
    const int64_t merged = (21 - cls) / 2 - 1;
    EXPECT_EQ(doubles(keys.plan(merged, cls)), keys.oracle(merged, cls)) << cls;
  }
}

TEST(TokenPlans, take_the_lower_of_equal_tokens) {
  Keys keys(1, 9, 4, 1);
  std::ranges::fill(keys.values, 1.0f);
  // Sources 0, 2, 4, 6, 8, of which the class token 0 stays; 2 and 4 go to the first target.
  EXPECT_EQ(keys.plan(2, 1), (std::vector<float>{0, 3, 3, 4, 3, 5, 1, 6, 2}));
  std::vector<float> kept(7);
  plan_keeping<float>(std::vector<float>{5, 1, 5, 5, 1, 5}, 3, 1, kept);
  EXPECT_EQ(kept, (std::vector<float>{0, 1, 4, 2, 3, 4, 4}));
}

TEST(TokenPlans, survive_numbers_that_are_none) {
  Keys keys(1, 9, 4, 1);
  keys.values[4 * 4] = std::numeric_limits<float>::quiet_NaN();
  std::ranges::fill(keys.values.begin() + 8, keys.values.begin() + 12, 0.0f);
  for (const float place : keys.plan(4, 1)) EXPECT_TRUE(place >= 0 && place < 5) << place;
  std::vector<float> kept(4);
  plan_keeping<float>(std::vector<float>{std::numeric_limits<float>::quiet_NaN(), 1, 2}, 1, 1, kept);
  EXPECT_EQ(kept, (std::vector<float>{0, 2, 2, 1}));
}

TEST(TokenFacts, are_the_oracle_s) {
  std::mt19937 random(3);
  const TokenLayout layout{17, 1, 6, 8};
  std::vector<double> owner(49);
  for (size_t s = 1; s < owner.size(); ++s) owner[s] = s < 17 ? static_cast<double>(s) : 1.0 + random() % 16;
  for (int64_t i = 0; i < kTokenFacts; ++i) {
    const std::string name(kTokenFactNames[i]);
    const TokenFact fact = token_fact(name);
    std::vector<double> told(is_of_slots(fact) ? 49 : 17);
    tell_tokens<double>(fact, layout, owner, told);
    EXPECT_EQ(told, test::oracle_fact(name, owner, 17, 1, 8)) << name;
  }
  EXPECT_THROW(token_fact("size"), std::invalid_argument);
}

TEST(TokenFacts, read_no_index_outside_its_range) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float index : {-1.0f, 1e30f, nan, 4.0f}) EXPECT_EQ(place_of(index, 4), 0);
  const std::vector<float> owner{-5, nan, 1e30f, 2, 1};
  std::vector<float> ranks(4);
  tell_tokens<float>(TokenFact::ranks, {4, 1, 2, 2}, owner, ranks);
  std::ranges::sort(ranks);
  EXPECT_EQ(ranks, (std::vector<float>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace fib::kernels
