// SPDX-License-Identifier: Apache-2.0
#include "sequences/series.h"

#include <gtest/gtest.h>

#include <cmath>

#include "files.h"

namespace fib::sequences {
namespace {

using test::error_of;
using test::mentions;

std::string parse_error(const std::string& text) {
  return error_of([&] { parse_series(text, "f.csv"); });
}

TEST(Series, reads_dates_and_numbers) {
  const Series s = parse_series(
      "\xef\xbb\xbf"
      "date,a,b\r\n2016-07-01 00:00:00,1,-2.5\r\n2016-07-01 01:00:00,3e1,4\r\n",
      "f");
  EXPECT_EQ(s.columns, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(s.values, (std::vector<float>{1, -2.5F, 30, 4}));
  EXPECT_EQ(s.rows(), 2);
  EXPECT_EQ(s.times, (std::vector<int64_t>{1467331200, 1467334800}));
}

TEST(Series, needs_no_dates) {
  const Series s = parse_series("a\n1\n2\n3", "f");
  EXPECT_EQ(s.rows(), 3);
  EXPECT_TRUE(s.times.empty());
}

TEST(Series, refuses_a_bad_file_in_one_line_that_says_where) {
  const std::string head = "date,a,b\n2016-07-01,1,2\n";
  EXPECT_TRUE(mentions(parse_error(""), "'f.csv' is empty"));
  EXPECT_TRUE(mentions(parse_error("date,a\n"), "there are no rows"));
  EXPECT_TRUE(mentions(parse_error(head + "2016-07-02,,2\n"), "line 3: column 'a' is empty: holes are not filled in"));
  EXPECT_TRUE(mentions(parse_error(head + "2016-07-02,x,2\n"), "line 3: column 'a': 'x' is no number"));
  EXPECT_TRUE(mentions(parse_error(head + "2016-07-02,nan,2\n"), "'nan' is no number"));
  EXPECT_TRUE(mentions(parse_error(head + "2016-07-02,1,-1e300\n"), "column 'b': '-1e300' is larger than 1e+15"));
  EXPECT_TRUE(mentions(parse_error(head + "2016-07-02,1\n"), "line 3: 2 fields, the first line has 3"));
  EXPECT_TRUE(mentions(parse_error(head + "\n2016-07-02,1,2\n"), "line 3: 1 fields"));
  EXPECT_TRUE(mentions(parse_error(head + "2016-06-30,1,2\n"), "line 3: the date '2016-06-30' is not after"));
  EXPECT_TRUE(mentions(parse_error(head + "2016-07-01,1,2\n"), "is not after the one before, 2016-07-01"));
  EXPECT_TRUE(mentions(parse_error(head + "2016-02-30,1,2\n"), "'2016-02-30' is no date"));
  EXPECT_TRUE(mentions(parse_error(head + "7/2/2016 0:00,1,2\n"), "'7/2/2016 0:00' is no date such as"));
  EXPECT_TRUE(mentions(parse_error("date;a;b\n2016-07-01;1;2\n"), "divided by commas, got ';'"));
  EXPECT_TRUE(mentions(parse_error("a\tb\n1\t2\n"), "divided by commas"));
  EXPECT_TRUE(mentions(parse_error("1,2\n3,4\n"), "the first line names the columns, got '1,2'"));
  EXPECT_TRUE(mentions(parse_error("date\n2016-07-01\n"), "there is no column of numbers"));
  EXPECT_TRUE(mentions(error_of([] { read_series("/no/such.csv"); }), "/no/such.csv"));
}

Series counting(int64_t rows, int64_t seconds) {
  Series s{.columns = {"a"}, .values = {}, .times = {}, .dates = {}};
  for (int64_t r = 0; r < rows; ++r) {
    s.values.push_back(static_cast<float>(r));
    if (seconds > 0) s.times.push_back(r * seconds);
  }
  return s;
}

/// Hours of ETTh1: 8,640, 2,880 and 2,880 of 17,420; windows as the published loaders count them.
TEST(Series, is_divided_by_months_as_ett_is) {
  const SeriesOptions options{.split = SeriesSplit::months, .look_back = 336, .horizon = 96};
  const SeriesParts parts = divided(counting(17420, 3600), options);
  EXPECT_EQ(parts.train.end, 8640);
  EXPECT_EQ(parts.validation.end, 11520);
  EXPECT_EQ(parts.test.end, 14400);
  EXPECT_EQ(windows_of(parts.train, options).first, 336);
  EXPECT_EQ(windows_of(parts.train, options).count, 8640 - 336 - 96 + 1);
  EXPECT_EQ(windows_of(parts.test, options).first, 11520);
  EXPECT_EQ(windows_of(parts.test, options).count, 2880 - 96 + 1);
  EXPECT_EQ(divided(counting(69680, 900), options).train.end, 4 * 8640);
}

TEST(Series, is_divided_by_shares_and_refused_where_no_window_fits) {
  const SeriesParts parts = divided(counting(1000, 0), {.look_back = 20, .horizon = 5});
  EXPECT_EQ(parts.test.begin, 800);
  EXPECT_EQ(parts.validation.begin, 720);
  EXPECT_TRUE(mentions(error_of([] { divided(counting(100, 0), {.look_back = 90, .horizon = 5}); }),
                       "72 rows to train on: a window needs 90 to look back at and 5"));
  const SeriesOptions months{.split = SeriesSplit::months};
  EXPECT_TRUE(mentions(error_of([&] { divided(counting(100, 3600), months); }), "needs 20 months of 720 rows"));
  EXPECT_TRUE(mentions(error_of([&] { divided(counting(100, 0), months); }), "needs a first column of dates"));
}

TEST(Scale, is_of_the_training_part_alone) {
  const Series s = counting(10, 0);
  const Scale scale = Scale::of(s, {0, 4});
  EXPECT_EQ(scale.mean[0], 1.5);
  EXPECT_DOUBLE_EQ(scale.deviation[0], std::sqrt(1.25));
  EXPECT_FLOAT_EQ(scale.scaled(s)[9], static_cast<float>(7.5 / std::sqrt(1.25)));
  EXPECT_EQ(Scale::of({.columns = {"a"}, .values = {3, 3}, .times = {}, .dates = {}}, {0, 2}).deviation[0], 1);
}

}  // namespace
}  // namespace fib::sequences
