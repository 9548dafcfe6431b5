// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "base/rng.h"
#include "fibottention/pattern.h"

namespace fib {
namespace {

__extension__ using uint128 = unsigned __int128;

/// ⌊xφ⌋ by bisection: the largest y with 2y - x <= √5 x, that is (2y - x)² <= 5x², in 128 bits.
int64_t wide_floor_times_phi(int64_t x) {
  const uint128 five_x2 = uint128(5) * static_cast<uint64_t>(x) * static_cast<uint64_t>(x);
  int64_t low = x, high = 2 * x;
  while (low < high) {
    const int64_t y = low + (high - low + 1) / 2;
    const uint128 t = static_cast<uint64_t>(2 * y - x);
    if (t * t <= five_x2) {
      low = y;
    } else {
      high = y - 1;
    }
  }
  return low;
}

void expect_exact_row(int64_t i) {
  const int64_t m = wide_floor_times_phi(i), a = wide_floor_times_phi(m);
  ASSERT_EQ(wythoff_row(i), (SequenceStart{a, a + m})) << "row " << i;
  ASSERT_EQ(modified_wythoff_row(i), (SequenceStart{2 * a - (a + m), m})) << "row " << i;
}

/// How often each integer up to `limit` stands in the rows that begin at or below it.
std::vector<int> occurrences(SequenceStart (*row)(int64_t), int64_t rows, int64_t limit) {
  std::vector<int> count(static_cast<size_t>(limit) + 1);
  for (int64_t i = 1; i <= rows; ++i) {
    for (int64_t e : fibonacci_elements(row(i), limit)) ++count[static_cast<size_t>(e)];
  }
  return count;
}

constexpr int64_t kSweep = 200000;

}  // namespace

TEST(WythoffArray, begins_as_the_paper_prints_it) {
  const std::vector<SequenceStart> rows = {{1, 2},   {4, 7},   {6, 10},  {9, 15},  {12, 20}, {14, 23},
                                           {17, 28}, {19, 31}, {22, 36}, {25, 41}, {27, 44}, {30, 49},
                                           {33, 54}, {35, 57}, {38, 62}, {40, 65}};
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(wythoff_row(static_cast<int64_t>(i) + 1), rows[i]);
}

TEST(WythoffArray, modified_begins_two_elements_earlier) {
  const std::vector<SequenceStart> rows = {{0, 1},  {1, 3},  {2, 4},  {3, 6},  {4, 8},   {5, 9},
                                           {6, 11}, {7, 12}, {8, 14}, {9, 16}, {10, 17}, {11, 19}};
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(modified_wythoff_row(static_cast<int64_t>(i) + 1), rows[i]);
}

TEST(WythoffArray, contains_every_integer_once) {
  const std::vector<int> count = occurrences(wythoff_row, kSweep, kSweep);
  for (int64_t n = 1; n <= kSweep; ++n) ASSERT_EQ(count[static_cast<size_t>(n)], 1) << n;
}

TEST(WythoffArray, modified_contains_every_integer_one_to_three_times) {
  const std::vector<int> count = occurrences(modified_wythoff_row, kSweep + 1, kSweep);
  for (int64_t n = 1; n <= kSweep; ++n) {
    ASSERT_GE(count[static_cast<size_t>(n)], 1) << n;
    ASSERT_LE(count[static_cast<size_t>(n)], 3) << n;
  }
}

TEST(WythoffArray, is_exact_against_128_bits) {
  for (int64_t i = 1; i <= 20000; ++i) expect_exact_row(i);
  for (int64_t i = kMaxWythoffRow - 20000; i <= kMaxWythoffRow; ++i) expect_exact_row(i);
  CounterRng rng(1);
  for (int n = 0; n < 50000; ++n) {
    expect_exact_row(1 + static_cast<int64_t>(rng.below(static_cast<uint64_t>(kMaxWythoffRow))));
  }
}

TEST(WythoffArray, is_exact_where_doubles_are_closest_to_wrong) {
  // Around Fibonacci numbers iφ is nearest to an integer, from either side in turn.
  for (int64_t f : fibonacci_elements({1, 1}, kMaxWythoffRow)) {
    for (int64_t i = f - 2; i <= f + 2; ++i) {
      if (i >= 1 && i <= kMaxWythoffRow) expect_exact_row(i);
    }
  }
}

TEST(WythoffArray, refuses_rows_it_cannot_compute_exactly) {
  for (int64_t i : {INT64_C(0), INT64_C(-1), kMaxWythoffRow + 1, INT64_MAX, INT64_MIN}) {
    EXPECT_THROW(wythoff_row(i), std::invalid_argument) << i;
    EXPECT_THROW(modified_wythoff_row(i), std::invalid_argument) << i;
  }
}

TEST(FloorTimesPhi, takes_zero_to_the_largest_rows_first_step) {
  EXPECT_EQ(floor_times_phi(0), 0);
  const int64_t largest = wide_floor_times_phi(kMaxWythoffRow);
  EXPECT_EQ(floor_times_phi(largest), wide_floor_times_phi(largest));
  EXPECT_THROW(floor_times_phi(largest + 1), std::invalid_argument);
  EXPECT_THROW(floor_times_phi(-1), std::invalid_argument);
}

}  // namespace fib
