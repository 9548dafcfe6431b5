// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <gtest/gtest.h>

#include "report/text.h"
#include "terminal.h"

using fib::cli::bar_text;
using fib::cli::clock_text;

TEST(Progress, tells_time_as_a_clock) {
  EXPECT_EQ(clock_text(0), "0:00");
  EXPECT_EQ(clock_text(59.6), "1:00");
  EXPECT_EQ(clock_text(3723), "1:02:03");
  EXPECT_EQ(clock_text(-1), "0:00");
}

TEST(Progress, fills_a_bar_of_constant_width) {
  for (int i = 0; i <= 160; ++i) EXPECT_EQ(fib::report::display_width(bar_text(i / 160.0)), 20u) << i;
  EXPECT_EQ(bar_text(0), std::string(20, ' '));
  EXPECT_EQ(bar_text(2), bar_text(1));
}

TEST(Progress, tells_speed_once_something_is_done) {
  using fib::cli::speed_text;
  EXPECT_EQ(speed_text(0, 10, 5), "");
  EXPECT_EQ(speed_text(100, 50, 2), ", 50.0/s, 0:01 left");
  EXPECT_EQ(speed_text(2, 2, 9), ", 4.5 s each, 0:09 left");
  EXPECT_EQ(speed_text(100, 50, 2, 60), ", 50.0/s, 1:01 left") << "other work comes on top";
}

TEST(Progress, fits_the_width_of_a_terminal) {
  using fib::cli::cut_to;
  EXPECT_EQ(cut_to("12 of 100 images", 80), "12 of 100 images");
  EXPECT_EQ(cut_to("12 of 100 images", 9), "12 of 10…");
  EXPECT_EQ(fib::report::display_width(cut_to(bar_text(0.7) + " 70 of 100", 12)), 12u);
  EXPECT_EQ(cut_to("a", 0), "");
}

TEST(Progress, stays_on_one_line_of_the_terminal_and_off_other_messages) {
  using fib::test::kClearLine;
  for (const unsigned short columns : {30, 40, 80, 100}) {
    fib::test::Terminal terminal(columns);
    {
      fib::cli::ProgressBar bar("images", 1000, false);
      while (terminal.written().empty())  // it is drawn no more often than a person sees
        bar.show(500, "epoch 1 of 30, loss 2.302");
      fib::cli::say("a message");
    }
    const std::string text = terminal.written();
    ASSERT_TRUE(text.starts_with(kClearLine)) << text;
    const size_t end = text.find(kClearLine, 1);
    ASSERT_NE(end, std::string::npos) << text;
    const std::string line = text.substr(kClearLine.size(), end - kClearLine.size());
    EXPECT_LT(fib::report::display_width(line), columns) << line;
    EXPECT_NE(line.find("500 of 1000 images"), std::string::npos) << line;
    EXPECT_EQ(line.find("loss 2.302") != std::string::npos, columns >= 80) << line;
    EXPECT_EQ(line.starts_with("█"), columns >= 80) << "a bar where numbers leave room: " << line;
    EXPECT_EQ(text.substr(end), kClearLine + "a message\r\n");
  }
}
