// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "fibottention/pattern.h"

namespace fib {

using Options = std::vector<std::pair<std::string, std::string>>;

TEST(AttentionSpec, is_a_name_with_or_without_options) {
  EXPECT_EQ(AttentionSpec::parse("full").name, "full");
  EXPECT_TRUE(AttentionSpec::parse("full").options.empty());
  const AttentionSpec spec = AttentionSpec::parse("fibottention:wmin=5,wmax=65,permute=none");
  EXPECT_EQ(spec.name, "fibottention");
  EXPECT_EQ(spec.options, (Options{{"wmin", "5"}, {"wmax", "65"}, {"permute", "none"}}));
}

TEST(AttentionSpec, survives_being_written_and_read) {
  for (const char* text : {"full", "local:w=2", "bigbird:w=1,random=196,seed=3"}) {
    EXPECT_EQ(AttentionSpec::parse(text).to_string(), text);
  }
}

TEST(AttentionSpec, refuses_what_is_not_a_name_with_pairs) {
  for (const char* text : {"", ":w=2", "local:", "local:w", "local:w=", "local:=2", "local:w=2,", "local:w=2,w=3"}) {
    EXPECT_THROW(AttentionSpec::parse(text), std::invalid_argument) << text;
  }
}

TEST(AttentionSpec, is_refused_in_one_line_whatever_it_holds) {
  for (const char* text : {"a\nb:c", "a:\nb", "a:\x1b=1,\x1b=2", "\n:a=1", "local:\n=1", "local:w=\n"}) {
    try {
      make_support(AttentionSpec::parse(text), {});
      ADD_FAILURE() << text;
    } catch (const std::invalid_argument& error) {
      for (const unsigned char c : std::string(error.what())) EXPECT_GE(c, 0x20) << error.what();
    }
  }
}

}  // namespace fib
