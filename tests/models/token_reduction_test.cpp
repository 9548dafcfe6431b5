// SPDX-License-Identifier: Apache-2.0
#include "models/token_reduction.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "models/cost.h"
#include "models/kinds.h"

namespace fib::models {
namespace {

std::string refusal(const std::string& model, const std::string& attention, const std::string& tokens) {
  Options options;
  try {
    options.attention = AttentionSpec::parse(attention);
    options.tokens = TokenReduction::parse(tokens);
    dimensions(model, options);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

TEST(TokenReduction, is_read_as_it_is_written) {
  for (const char* text : {"tome:r=13,distance=compact", "evit:keep=0.7,at=3,6,9,distance=original", ""})
    EXPECT_EQ(TokenReduction::parse(text).to_string(), text);
  EXPECT_EQ(TokenReduction::parse("tome").merged, 13);
  EXPECT_EQ(TokenReduction::parse("evit:at=9,3").at, (std::vector<int64_t>{3, 9}));
}

TEST(TokenReduction, refuses_other_texts_in_one_line) {
  for (const char* text : {"tom", "tome:", "tome:r", "tome:r=-1", "tome:r=1,2", "tome:keep=0.5", "evit:keep=0",
                           "evit:keep=1.5", "evit:at=x", "evit:at=3,3", "evit:r=3", "tome:r=1,r=2", "tome:distance=far",
                           "evit:3", "tome:r=99999999999999999999"}) {
    try {
      TokenReduction::parse(text);
      ADD_FAILURE() << text;
    } catch (const std::invalid_argument& e) {
      EXPECT_NE(std::string(e.what()).find("accepted are tome:r=N"), std::string::npos) << text;
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << text;
    }
  }
}

TEST(TokenReduction, counts_tokens_as_the_authors_do) {
  // ToMe: 13 pairs in each of twelve blocks. EViT: the class token, ceil(0.7 · patches) and one for the others.
  EXPECT_EQ(TokenReduction::parse("tome:r=13").tokens_by_block(197, 1, 12).back(), 41);
  EXPECT_EQ(TokenReduction::parse("evit").tokens_by_block(197, 1, 12),
            (std::vector<int64_t>{197, 197, 197, 197, 140, 140, 140, 100, 100, 100, 72, 72, 72}));
  EXPECT_EQ(TokenReduction::parse("evit:keep=1").tokens_by_block(197, 1, 12).back(), 197);
}

TEST(TokenReduction, is_refused_where_it_cannot_be) {
  EXPECT_EQ(refusal("mini_vit", "full", "tome:r=9"), "");
  EXPECT_NE(refusal("mini_vit", "full", "tome:r=33").find("block 0 has 65 tokens, of which 33 pairs"),
            std::string::npos);
  EXPECT_NE(refusal("mini_vit", "full", "evit:at=3").find("blocks 0 to 2, not 3"), std::string::npos);
  EXPECT_NE(refusal("mini_swin", "full", "tome:r=1").find("cannot become fewer"), std::string::npos);
  EXPECT_NE(refusal("mini_vit", "fibottention:grid=3", "tome:r=1").find("distance=original"), std::string::npos);
  EXPECT_NE(refusal("mini_vit", "fibottention:masking=zero", "tome:r=1").find("have a bias"), std::string::npos);
  EXPECT_EQ(refusal("mini_vit", "fibottention:masking=zero", "evit:at=1"), "");
  EXPECT_EQ(refusal("mini_vit", "local:summaries=2x2", "evit:at=1,distance=original"), "");
}

TEST(TokenReduction, costs_what_is_left) {
  Options options;
  const Cost whole = cost(dimensions("vit_tiny_patch16_224", options));
  options.tokens = TokenReduction::parse("tome:r=13");
  const Cost reduced = cost(dimensions("vit_tiny_patch16_224", options));
  EXPECT_NEAR(whole.total() / 1e9, 1.26, 0.02);
  EXPECT_NEAR(reduced.total() / 1e9, 0.72, 0.05);
  EXPECT_EQ(whole.parameters, reduced.parameters);
}

}  // namespace
}  // namespace fib::models
