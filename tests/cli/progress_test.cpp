// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <gtest/gtest.h>

#include "report/table.h"

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
