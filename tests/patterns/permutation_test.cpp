// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "fibottention/pattern.h"
#include "golden.h"

namespace fib {

TEST(PublishedPermutation, is_what_python_draws) {
  const auto& permutations = golden_patterns().at("permutations");
  EXPECT_EQ(permutations.size(), 6u);
  for (const auto& [heads, layers] : permutations.items()) {
    EXPECT_EQ(layers.size(), 12u);
    for (size_t l = 0; l < layers.size(); ++l) {
      const auto expected = layers[l].get<std::vector<int64_t>>();
      EXPECT_EQ(published_permutation(std::stoll(heads), static_cast<int64_t>(l)), expected)
          << heads << " heads, " << l;
    }
  }
}

TEST(PublishedPermutation, seeds_beyond_32_bits_as_python_does) {
  // random.seed(2**40 + 7); random.shuffle(list(range(8)))
  EXPECT_EQ(published_permutation(8, (INT64_C(1) << 40) + 7), (std::vector<int64_t>{0, 5, 6, 3, 1, 4, 2, 7}));
}

TEST(PublishedPermutation, of_one_head_is_the_identity) {
  EXPECT_EQ(published_permutation(1, 5), std::vector<int64_t>{0});
}

TEST(PublishedPermutation, contains_every_head_once) {
  for (int64_t heads : {2, 5, 31, 32, 33, 1000}) {
    std::vector<int64_t> p = published_permutation(heads, 3);
    std::sort(p.begin(), p.end());
    for (int64_t h = 0; h < heads; ++h) EXPECT_EQ(p[static_cast<size_t>(h)], h);
  }
}

TEST(PublishedPermutation, refuses_no_heads_and_negative_layers) {
  EXPECT_THROW(published_permutation(0, 0), std::invalid_argument);
  EXPECT_THROW(published_permutation(12, -1), std::invalid_argument);
}

}  // namespace fib
