// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <gtest/gtest.h>

namespace fib {

TEST(EditDistance, counts_insertions_deletions_and_substitutions) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("pattern", "patern"), 1u);
  EXPECT_EQ(edit_distance("flaw", "lawn"), 2u);
}

TEST(EditDistance, takes_swapped_neighbours_for_one_slip) {
  EXPECT_EQ(edit_distance("wmxa", "wmax"), 1u);
  EXPECT_EQ(edit_distance("ab", "ba"), 1u);
}

TEST(Nearest, is_the_candidate_with_the_fewest_edits) {
  const std::vector<std::string> known = {"local", "longformer", "bigbird"};
  EXPECT_EQ(nearest("lokal", known), "local");
  EXPECT_EQ(nearest("big-bird", known), "bigbird");
}

TEST(Nearest, is_first_what_the_word_begins_or_begins_with) {
  EXPECT_EQ(nearest("vit_tiny", {"vit_large", "vit_tiny_patch16_224"}), "vit_tiny_patch16_224");
  EXPECT_EQ(nearest("vit", {"vit_tiny_patch16", "vit_base"}), "vit_base");
  EXPECT_EQ(nearest("evaluate", {"generate", "eval"}), "eval");
  EXPECT_EQ(nearest("--evaluate-every", {"--eval", "--evaluate"}), "--evaluate");
  EXPECT_EQ(nearest("wm", {"wmax", "wn"}), "wn");
}

TEST(Nearest, is_the_first_among_equals) { EXPECT_EQ(nearest("wmi", {"wmin", "wmi2", "wmax"}), "wmin"); }

TEST(Nearest, is_none_for_another_word_altogether) {
  EXPECT_EQ(nearest("xyzzy", {"local", "bigbird"}), std::nullopt);
  EXPECT_EQ(nearest("local", {}), std::nullopt);
}

TEST(UnknownName, says_what_was_received_the_guess_and_the_list) {
  EXPECT_EQ(unknown_name("option", "wmxa", {"wmin", "wmax"}),
            "unknown option 'wmxa', did you mean 'wmax'? Known: wmin, wmax");
  EXPECT_EQ(unknown_name("option", "zzzz", {"wmin"}), "unknown option 'zzzz'; known: wmin");
}

TEST(UnknownName, shows_a_hostile_word_escaped_and_shortened_at_once) {
  EXPECT_EQ(unknown_name("option", "\x1b[2J", {"wmin"}), "unknown option '\\x1b[2J'; known: wmin");
  const std::string endless(20'000'000, 'w');
  EXPECT_LT(unknown_name("option", endless, {"wmin", "wmax"}).size(), 200U);
}

TEST(FindNamed, is_the_row_or_says_which_there_are) {
  struct Row {
    std::string name;
    int value;
  };
  const std::vector<Row> rows = {{"local", 1}, {"bigbird", 2}};
  EXPECT_EQ(find_named(rows, "row", "bigbird", &Row::name).value, 2);
  try {
    find_named(rows, "row", "lokal", &Row::name);
    FAIL() << "there is no lokal";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "unknown row 'lokal', did you mean 'local'? Known: local, bigbird");
  }
}

}  // namespace fib
