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

TEST(Printable, leaves_plain_text_of_any_language_alone) {
  EXPECT_EQ(printable("conv1.weight", 60), "conv1.weight");
  EXPECT_EQ(printable("épée 猫 😀 100 %", 60), "épée 猫 😀 100 %");
}

TEST(Printable, shows_what_would_steer_a_terminal) {
  EXPECT_EQ(printable("a\x1b[2Jb", 60), "a\\x1b[2Jb");
  EXPECT_EQ(printable("one\r\ntwo\ttab\x7f", 60), "one\\x0d\\x0atwo\\x09tab\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3), 60), "a\\x00b");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m",
                      60),
            "\\xc2\\x9b31m")
      << "C1's own escape";
}

TEST(Printable, shows_what_would_reorder_or_hide_text) {
  EXPECT_EQ(printable("a\u202egnp.exe", 60), "a\\xe2\\x80\\xaegnp.exe");
  EXPECT_EQ(printable("a\u200bb\ufeff\u2028", 60), "a\\xe2\\x80\\x8bb\\xef\\xbb\\xbf\\xe2\\x80\\xa8");
}

TEST(Printable, shows_code_points_that_are_no_characters) {
  EXPECT_EQ(printable("a\xef\xbf\xbe\xef\xbf\xbf", 60), "a\\xef\\xbf\\xbe\\xef\\xbf\\xbf") << "XML forbids them";
}

TEST(Printable, shows_bytes_that_are_not_utf8) {
  EXPECT_EQ(printable("\x93NUMPY", 60), "\\x93NUMPY");
  EXPECT_EQ(printable("\xc0\xaf", 60), "\\xc0\\xaf") << "overlong";
  EXPECT_EQ(printable("\xed\xa0\x80", 60), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(printable("\xf4\x90\x80\x80", 60), "\\xf4\\x90\\x80\\x80") << "beyond the last character";
  EXPECT_EQ(printable("ab\xe2\x82", 60), "ab\\xe2\\x82") << "cut in the middle of a character";
}

TEST(Printable, cuts_after_so_many_characters) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdefg", 6), "abcdef…");
  EXPECT_EQ(printable("éééé", 3), "ééé…");
  EXPECT_EQ(printable("a", 0), "…");
  EXPECT_EQ(in_quotes(std::string(61, 'x')), "'" + std::string(60, 'x') + "…'");
}

TEST(ShellLine, leaves_plain_words_and_quotes_the_others) {
  const std::vector<std::string> words = {"fib", "train", "--set=a:b,c", "", "two words", "it's", "$(touch x)"};
  EXPECT_EQ(shell_line(words), R"(fib train --set=a:b,c '' 'two words' 'it'\''s' '$(touch x)')");
}

}  // namespace

}  // namespace fib
