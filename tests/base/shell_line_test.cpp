// SPDX-License-Identifier: Apache-2.0
#include "base/shell_line.h"

#include <gtest/gtest.h>

#include <vector>

namespace fib {
namespace {

TEST(ShellLine, leaves_plain_words_and_quotes_the_others) {
  const std::vector<std::string> words = {"fib", "train", "--set=a:b,c", "", "two words", "it's", "$(touch x)"};
  EXPECT_EQ(shell_line(words), R"(fib train --set=a:b,c '' 'two words' 'it'\''s' '$(touch x)')");
}

}  // namespace
}  // namespace fib
