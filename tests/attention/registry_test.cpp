// SPDX-License-Identifier: Apache-2.0
#include "attention/registry.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "fibottention/mechanisms.h"

namespace fib::attention {
namespace {

std::string error_of(const std::string& spec) {
  try {
    check_spec(AttentionSpec::parse(spec));
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

TEST(AttentionRegistry, holds_every_pattern_and_the_three_that_are_none) {
  std::set<std::string> names;
  for (const MechanismInfo& m : mechanisms()) EXPECT_TRUE(names.insert(m.name).second) << m.name;
  for (const PatternInfo& pattern : pattern_registry()) EXPECT_TRUE(names.count(pattern.name)) << pattern.name;
  for (const char* name : {"topk", "linformer", "efficient"}) EXPECT_TRUE(names.count(name)) << name;
  EXPECT_TRUE(find_mechanism("full").dense);
  EXPECT_FALSE(find_mechanism("full").support_set);
  EXPECT_TRUE(find_mechanism("bigbird").support_set);
}

TEST(AttentionRegistry, answers_an_unknown_name_with_the_nearest) {
  EXPECT_NE(error_of("linforme").find("linformer"), std::string::npos);
  EXPECT_NE(error_of("topk:j=3").find("j"), std::string::npos);
  EXPECT_EQ(error_of("topk:k=5"), "");
}

TEST(AttentionRegistry, refuses_words_that_an_option_does_not_take) {
  EXPECT_EQ(error_of("full:path=anything"), "attention full: path must be tiles or products, got 'anything'");
  EXPECT_EQ(error_of("longformer:masking=none"), "attention longformer: masking must be exclude or zero, got 'none'");
  for (const char* fine : {"full:path=tiles", "full:path=products", "bigbird:masking=zero"})
    EXPECT_EQ(error_of(fine), "");
}

TEST(AttentionRegistry, says_what_a_mechanism_is_that_has_no_pattern) {
  for (const MechanismInfo& m : mechanisms()) {
    const AttentionSpec spec{m.name, {}};
    if (m.support_set || m.dense) {
      EXPECT_NO_THROW(require_pattern(spec)) << m.name;
      continue;
    }
    try {
      require_pattern(spec);
      ADD_FAILURE() << m.name;
    } catch (const std::invalid_argument& e) {
      EXPECT_NE(std::string(e.what()).find(m.name + " is not a support set (" + m.summary), std::string::npos);
    }
  }
}

TEST(AttentionRegistry, knows_of_every_mechanism_what_it_costs) {
  for (const MechanismInfo& m : mechanisms()) {
    ASSERT_NE(m.cost, nullptr) << m.name;
    EXPECT_GT(cost({m.name, {}}, Geometry{}).pairs, 0) << m.name;
  }
}

TEST(AttentionRegistry, gives_every_support_set_a_masking) {
  EXPECT_EQ(masking_of(AttentionSpec::parse("longformer")), Masking::exclude);
  EXPECT_EQ(masking_of(AttentionSpec::parse("fibottention:masking=zero")), Masking::zero);
  EXPECT_THROW(masking_of(AttentionSpec::parse("fibottention:masking=none")), std::invalid_argument);
}

TEST(AttentionRegistry, lets_efficient_ask_for_fewer_query_channels) {
  EXPECT_EQ(query_key_dim(AttentionSpec::parse("efficient"), Geometry{}), 4);
  EXPECT_EQ(query_key_dim(AttentionSpec::parse("efficient:dim=0"), Geometry{}), 64);
  EXPECT_EQ(query_key_dim(AttentionSpec::parse("fibottention"), Geometry{}), 64);
}

Geometry two_grids(Grid query, Grid key, int64_t cls) {
  Geometry g;
  g.heads = 3;
  g.cls = cls;
  g.query_grid = query;
  g.key_grid = key;
  return g;
}

TEST(LayerSupport, of_equal_grids_is_the_pattern_itself) {
  const SupportSet layer =
      layer_support(AttentionSpec::parse("fibottention:masking=zero"), two_grids({7, 7}, {7, 7}, 1));
  PatternGeometry pattern;
  pattern.patches = 49;
  pattern.heads = 3;
  EXPECT_EQ(layer.pairs(), make_support(AttentionSpec::parse("fibottention"), pattern).pairs());
}

TEST(CInterface, lists_every_support_set) {
  const auto list = nlohmann::json::parse(fib_mechanisms());
  ASSERT_EQ(list.size(), pattern_registry().size());
  for (const auto& entry : list) {
    const MechanismInfo& m = find_mechanism(entry["name"]);
    EXPECT_EQ(entry["summary"], m.summary);
    EXPECT_EQ(entry["options"].size(), m.support_set ? m.options.size() : 0) << m.name;
  }
}

TEST(CInterface, checks_a_text_and_takes_its_masking_out) {
  const char* spec = nullptr;
  fib_masking masking = FIB_MASKING_EXCLUDE;
  ASSERT_EQ(fib_mechanism_check("bigbird:w=2,masking=zero", &spec, &masking), FIB_OK);
  EXPECT_STREQ(spec, "bigbird:w=2");
  EXPECT_EQ(masking, FIB_MASKING_ZERO);
  ASSERT_EQ(fib_mechanism_check("full", &spec, &masking), FIB_OK);
  EXPECT_EQ(masking, FIB_MASKING_EXCLUDE);
  for (const char* bad : {"topk", "bigbirt", "bigbird:w=2,w=3", "local:masking=none"}) {
    EXPECT_EQ(fib_mechanism_check(bad, &spec, &masking), FIB_INVALID_ARGUMENT) << bad;
    EXPECT_NE(std::string(fib_last_error()), "") << bad;
  }
  EXPECT_EQ(fib_mechanism_check(nullptr, &spec, &masking), FIB_INVALID_ARGUMENT);
}

/// The rule as it is written down: cells |c(j) - c(k)| apart, c in the elementwise smaller grid.
TEST(LayerSupport, of_different_grids_follows_the_coarse_grid_rule) {
  const Grid query{8, 6}, key{4, 9}, coarse{4, 6};
  const SupportSet layer = layer_support(AttentionSpec::parse("fibottention:wmin=2,wmax=8"), two_grids(query, key, 1));
  ASSERT_EQ(layer.query_tokens(), 49);
  ASSERT_EQ(layer.key_tokens(), 37);
  PatternGeometry pattern;
  pattern.patches = coarse.tokens();
  pattern.heads = 3;
  const SupportSet square = make_support(AttentionSpec::parse("fibottention:wmin=2,wmax=8"), pattern);
  const auto cell = [&](int64_t t, const Grid& g) {
    return (t / g.width) * coarse.height / g.height * coarse.width + (t % g.width) * coarse.width / g.width;
  };
  for (int64_t h = 0; h < 3; ++h) {
    const auto& offsets = square.head(h).offsets;
    for (int32_t j = 0; j < 49; ++j) {
      for (int32_t k = 0; k < 37; ++k) {
        const bool dense = j == 0 || k == 0;
        const int64_t distance = dense ? 0 : std::abs(cell(j - 1, query) - cell(k - 1, key));
        const bool kept = dense || std::find(offsets.begin(), offsets.end(), distance) != offsets.end();
        EXPECT_EQ(layer.contains(h, {j, k}), kept) << h << " " << j << " " << k;
      }
    }
  }
}

}  // namespace
}  // namespace fib::attention
