// SPDX-License-Identifier: Apache-2.0
#include "patterns/sequences.h"

#include <gtest/gtest.h>

namespace fib {
namespace {

using Integers = std::vector<int64_t>;

TEST(FibonacciElements, are_positive_ascending_and_without_repeats) {
  EXPECT_EQ(fibonacci_elements({1, 1}, 20), (Integers{1, 2, 3, 5, 8, 13}));
  EXPECT_EQ(fibonacci_elements({0, 1}, 8), (Integers{1, 2, 3, 5, 8}));
  EXPECT_EQ(fibonacci_elements({4, 7}, 29), (Integers{4, 7, 11, 18, 29}));
  EXPECT_EQ(fibonacci_elements({5, 1}, 13), (Integers{1, 5, 6, 7, 13}));
}

TEST(FibonacciElements, are_none_below_the_first) {
  EXPECT_EQ(fibonacci_elements({4, 7}, 3), Integers{});
  EXPECT_EQ(fibonacci_elements({1, 2}, 0), Integers{});
  EXPECT_EQ(fibonacci_elements({1, 2}, -5), Integers{});
}

TEST(FibonacciElements, end_before_they_overflow) {
  const Integers all = fibonacci_elements({1, 2}, INT64_MAX);
  EXPECT_EQ(all.size(), 91u);
  EXPECT_EQ(all.back(), INT64_C(7540113804746346429));  // F(92), the last in 63 bits
  EXPECT_EQ(fibonacci_elements({INT64_MAX - 1, INT64_MAX}, INT64_MAX), (Integers{INT64_MAX - 1, INT64_MAX}));
}

TEST(FibonacciElements, refuse_a_sequence_of_zeros_or_negatives) {
  EXPECT_THROW(fibonacci_elements({0, 0}, 10), std::invalid_argument);
  EXPECT_THROW(fibonacci_elements({-1, 3}, 10), std::invalid_argument);
}

TEST(DilationSequence, powers_and_polynomials_all_contain_one) {
  EXPECT_EQ(powers_of(2).elements(65), (Integers{1, 2, 4, 8, 16, 32, 64}));
  EXPECT_EQ(powers_of(3).elements(65), (Integers{1, 3, 9, 27}));
  EXPECT_EQ(integers_to_the(2).elements(65), (Integers{1, 4, 9, 16, 25, 36, 49, 64}));
  EXPECT_EQ(integers_to_the(3).elements(65), (Integers{1, 8, 27, 64}));
  EXPECT_EQ(multiples_of(7).elements(30), (Integers{7, 14, 21, 28}));
}

TEST(DilationSequence, ends_at_the_largest_integers) {
  EXPECT_EQ(powers_of(2).elements(INT64_MAX).size(), 63u);
  EXPECT_EQ(powers_of(3).elements(INT64_MAX).size(), 40u);
  EXPECT_EQ(integers_to_the(3).elements(1000000000).size(), 1000u);
}

TEST(WindowedOffsets, keep_what_the_window_and_the_tokens_allow) {
  EXPECT_EQ(windowed_offsets(fibonacci_sequence({4, 7}), 11, 196), (Integers{4, 7, 11}));
  EXPECT_EQ(windowed_offsets(fibonacci_sequence({4, 7}), 65, 12), (Integers{4, 7, 11}));
  EXPECT_EQ(windowed_offsets(fibonacci_sequence({4, 7}), 65, 11), (Integers{4, 7}));
}

TEST(WindowedOffsets, fall_back_to_the_first_positive_element) {
  EXPECT_EQ(windowed_offsets(fibonacci_sequence({17, 28}), 14, 49), (Integers{17}));
  EXPECT_EQ(windowed_offsets(multiples_of(9), 4, 49), (Integers{9}));
  EXPECT_EQ(windowed_offsets(fibonacci_sequence({17, 28}), 14, 17), Integers{});
  EXPECT_EQ(windowed_offsets(fibonacci_sequence({1, 2}), 5, 1), Integers{});
}

TEST(HeadWindow, grows_linearly_from_wmin_to_wmax) {
  const Integers expected = {5, 10, 15, 21, 26, 32, 37, 43, 48, 54, 59, 65};
  for (int64_t i = 1; i <= 12; ++i) EXPECT_EQ(head_window(i, 12, 5, 65), expected[static_cast<size_t>(i - 1)]);
}

TEST(HeadWindow, of_a_single_head_is_wmax) { EXPECT_EQ(head_window(1, 1, 5, 65), 65); }

TEST(HeadWindow, ends_at_wmax_whatever_the_number_of_heads) {
  for (int64_t heads = 1; heads <= 300; ++heads) EXPECT_EQ(head_window(heads, heads, 3, kMaxTokens), kMaxTokens);
}

TEST(HeadWindow, refuses_what_makes_no_sense) {
  EXPECT_THROW(head_window(1, 12, 66, 65), std::invalid_argument);
  EXPECT_THROW(head_window(1, 12, 0, 65), std::invalid_argument);
  EXPECT_THROW(head_window(1, 12, -3, 65), std::invalid_argument);
  EXPECT_THROW(head_window(0, 12, 5, 65), std::invalid_argument);
  EXPECT_THROW(head_window(13, 12, 5, 65), std::invalid_argument);
  EXPECT_THROW(head_window(1, 0, 5, 65), std::invalid_argument);
}

}  // namespace
}  // namespace fib
