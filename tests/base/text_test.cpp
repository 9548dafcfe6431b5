// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <gtest/gtest.h>

#include <vector>

namespace fib {
namespace {

TEST(ParseNumber, takes_a_whole_number_and_nothing_else) {
  EXPECT_EQ(parse_number<int>("-42"), -42);
  EXPECT_EQ(parse_number<double>("2.5e3"), 2500.0);
  for (const char* text : {"", " 1", "1 ", "1x", "+1", "0x10", "99999999999"})
    EXPECT_EQ(parse_number<int>(text), std::nullopt) << text;
}

TEST(Joined, puts_separators_between_items) {
  EXPECT_EQ(joined(std::vector<std::string>{}), "");
  EXPECT_EQ(joined(std::vector<std::string>{"", "b"}), ", b");
  EXPECT_EQ(joined(std::vector<std::string>{"a", "b", "c"}, " and "), "a and b and c");
}

}  // namespace
}  // namespace fib
