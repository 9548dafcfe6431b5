// SPDX-License-Identifier: Apache-2.0
#include "report/text.h"

#include <gtest/gtest.h>

namespace fib::report {

namespace {

SupportSet::Head head_with(std::vector<int64_t> offsets, bool diagonal = false, std::vector<TokenPair> pairs = {}) {
  return {0, std::move(offsets), diagonal, {}, PairList(10, 10, std::move(pairs))};
}

}  // namespace

TEST(Words, group_digits_in_threes) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(-123456), "-123,456");
}

TEST(Words, count_bytes_in_powers_of_1024) {
  EXPECT_EQ(bytes(1), "1 byte");
  EXPECT_EQ(bytes(1023), "1,023 bytes");
  EXPECT_EQ(bytes(1536), "1.5 KiB");
  EXPECT_EQ(bytes(INT64_C(5) << 40), "5.0 TiB");
}

TEST(Words, describe_a_support_set) {
  EXPECT_EQ(describe_support("x", SupportSet(1, 0, {{}})), "x, 1 token, 1 head");
  EXPECT_EQ(describe_support("x", SupportSet(1000, 2, {{}, {}}, true)),
            "x, 1,000 tokens + 2 class tokens, 2 heads, causal");
}

TEST(Words, list_the_keys_of_a_head) {
  EXPECT_EQ(describe_keys(head_with({1, 2, 3, 5}), 20, "…"), "1 2 3 5");
  EXPECT_EQ(describe_keys(head_with({1}, true), 20, "…"), "0 1");
  EXPECT_EQ(describe_keys(head_with({}), 20, "…"), "no offsets");
  EXPECT_EQ(describe_keys(head_with({}, false, {{1, 2}, {3, 4}}), 20, "…"), "2 listed");
  EXPECT_EQ(describe_keys(head_with({1}, true, {{1, 4}}), 20, "…"), "0 1 + 1 listed");
}

TEST(Words, shorten_long_lists_to_the_room_there_is) {
  std::vector<int64_t> offsets(99);
  for (size_t i = 0; i < offsets.size(); ++i) offsets[i] = static_cast<int64_t>(i) + 1;
  EXPECT_EQ(describe_keys(head_with(offsets), 30, "..."), "1 2 3 4 5 6 ... 99 (99)");
  EXPECT_EQ(describe_keys(head_with(offsets), 18, "..."), "1 2 3 ... 99 (99)");
  EXPECT_EQ(describe_keys(head_with(offsets), 5, "..."), "1 ... 99 (99)");
}

using enum Table::Align;

TEST(Table, aligns_columns_by_what_is_seen) {
  Table table({{"a", left}, {"size", right}});
  table.add_row({"φ…", "1"});
  table.add_row({"long", "12345"});
  EXPECT_EQ(table.to_string(), "a      size\nφ…        1\nlong  12345\n");
}

TEST(Table, has_no_header_without_titles_and_no_trailing_blanks) {
  Table table({{"", left}, {"", left}});
  table.add_row({"ab", "c"});
  table.add_row({"d", ""});
  EXPECT_EQ(table.to_string(), "ab  c\nd\n");
}

TEST(Table, refuses_a_row_of_another_width) { EXPECT_THROW(Table({{"a", left}}).add_row({}), std::logic_error); }

TEST(DisplayWidth, counts_code_points) {
  EXPECT_EQ(display_width(""), 0u);
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("⌊iφ⌋"), 4u);
}

}  // namespace fib::report
