// SPDX-License-Identifier: Apache-2.0
#include "report/table.h"

#include <gtest/gtest.h>

namespace fib::report {

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
