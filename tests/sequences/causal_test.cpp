// SPDX-License-Identifier: Apache-2.0
#include "sequences/causal.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "attention/registry.h"
#include "files.h"

namespace fib::sequences {
namespace {

using test::error_of;
using test::mentions;

CausalLayer layer_of(const std::string& text, const CausalGeometry& geometry) {
  return causal_layer(AttentionSpec::parse(text), geometry);
}

/// The support of as many tokens as the context is the mechanism's own, with its later keys left out.
TEST(CausalLayer, looks_back_at_the_mechanisms_own_pairs) {
  for (const char* text : {"fibottention", "fibottention-modified:wmax=20", "local", "local:w=5,diagonal=true",
                           "longformer:w=4", "sparse-transformer", "powers-of-2"}) {
    for (const int64_t layer : {0, 1, 3}) {
      const SupportSet own = make_support(AttentionSpec::parse(text),
                                          {.patches = 40, .cls = 0, .heads = 4, .layer = layer, .causal = true});
      const CausalLayer causal = layer_of(text, {.heads = 4, .context = 40, .layer = layer});
      const SupportSet support = causal.support(40);
      for (int64_t h = 0; h < 4; ++h)
        for (int64_t q = 0; q < 40; ++q) EXPECT_EQ(support.keys_of_row(h, q), own.keys_of_row(h, q)) << text;
      EXPECT_EQ(causal.pairs(40), own.pairs()) << text;
    }
  }
}

TEST(CausalLayer, keeps_its_distances_at_every_length) {
  const CausalLayer causal = layer_of("fibottention", {.heads = 4, .context = 64});
  for (const int64_t tokens : {1, 2, 63, 200}) {
    const SupportSet support = causal.support(tokens);
    int64_t pairs = 0;
    for (int64_t h = 0; h < 4; ++h) {
      for (int64_t q = 0; q < tokens; ++q) {
        for (const int64_t key : support.keys_of_row(h, q)) {
          const auto& head = causal.distances[static_cast<size_t>(h)];
          EXPECT_TRUE(std::binary_search(head.begin(), head.end(), q - key));
          ++pairs;
        }
      }
    }
    EXPECT_EQ(causal.pairs(tokens), pairs) << tokens;
  }
  EXPECT_LE(causal.rows(64), 64 / 3 + 1);
}

TEST(CausalLayer, of_full_attention_is_everything_before) {
  const CausalLayer full = layer_of("full", {.heads = 2, .context = 7});
  EXPECT_TRUE(full.everything);
  EXPECT_EQ(full.pairs(7), 2 * 28);
  EXPECT_EQ(full.support(7).pairs(), 2 * 28);
  EXPECT_EQ(full.rows(7), 7);
  EXPECT_EQ(full.pruning_ratio(7), 0);
}

/// All others say why: none is left without a reason.
TEST(CausalLayer, refuses_what_does_not_look_back_by_distances) {
  for (const attention::MechanismInfo& mechanism : attention::mechanisms()) {
    const std::string error = error_of([&] { layer_of(mechanism.name, {.heads = 4, .context = 32}); });
    if (error.empty()) continue;
    EXPECT_TRUE(mentions(error, "cannot be causal: ")) << mechanism.name;
  }
  for (const char* text : {"topk", "linformer", "efficient", "bigbird", "random:ratio=0.5", "fibottention:bands=cross",
                           "fibottention:masking=zero"})
    EXPECT_TRUE(mentions(error_of([&] { layer_of(text, {.heads = 4, .context = 32}); }), text)) << text;
  const auto error = [](const char* text) { return error_of([&] { layer_of(text, {.heads = 4, .context = 32}); }); };
  EXPECT_TRUE(mentions(error("fibotention"), "did you mean 'fibottention'?"));
  EXPECT_TRUE(mentions(error("fibottention:local=-1"), "option local: received '-1', accepted an integer from 0"));
  EXPECT_TRUE(mentions(error("fibottention:stretch=x"), "option stretch: received 'x'"));
  EXPECT_TRUE(mentions(error("fibottention:wide=1"), "wide"));
}

TEST(CausalLayer, local_adds_a_window_and_the_token_itself) {
  const CausalLayer plain = layer_of("fibottention", {.heads = 3, .context = 60});
  const CausalLayer both = layer_of("fibottention:local=4", {.heads = 3, .context = 60});
  for (size_t h = 0; h < 3; ++h) {
    for (int64_t distance = 0; distance < 60; ++distance) {
      const bool in_plain = std::ranges::binary_search(plain.distances[h], distance);
      EXPECT_EQ(std::ranges::binary_search(both.distances[h], distance), in_plain || distance <= 4) << distance;
    }
  }
}

TEST(CausalLayer, stretch_multiplies_the_distances_of_later_layers) {
  const auto distances = [](const char* text, int64_t layer) {
    return layer_of(text, {.heads = 1, .context = 100, .layer = layer}).distances[0];
  };
  const std::vector<int64_t> first = distances("fibottention:stretch=2", 0);
  EXPECT_EQ(first, distances("fibottention", 0));
  std::vector<int64_t> expected;
  for (const int64_t distance : first)
    if (5 * distance < 100) expected.push_back(5 * distance);
  EXPECT_EQ(distances("fibottention:stretch=2", 2), expected);
}

}  // namespace
}  // namespace fib::sequences
