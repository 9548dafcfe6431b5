// SPDX-License-Identifier: Apache-2.0
#include "patterns/measured_offsets.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <numeric>

#include "base/rng.h"
#include "fibottention/pattern.h"
#include "files.h"

namespace fib {
namespace {

std::vector<std::vector<double>> random_values(size_t n, uint64_t seed) {
  CounterRng rng(seed, {n});
  std::vector<std::vector<double>> value(n, std::vector<double>(n));
  for (auto& row : value)
    for (double& v : row) v = static_cast<double>(rng.below(1000)) / 1000;
  return value;
}

double total(const std::vector<std::vector<double>>& value, const std::vector<size_t>& jobs) {
  double sum = 0;
  for (size_t i = 0; i < jobs.size(); ++i) sum += value[i][jobs[i]];
  return sum;
}

TEST(Assignment, is_as_good_as_the_best_of_all_permutations) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (size_t n = 1; n <= 6; ++n) {
      const auto value = random_values(n, seed);
      std::vector<size_t> order(n);
      std::iota(order.begin(), order.end(), 0);
      double best = 0;
      do best = std::max(best, total(value, order));
      while (std::next_permutation(order.begin(), order.end()));
      std::vector<size_t> got = best_assignment(value);
      EXPECT_NEAR(total(value, got), best, 1e-12) << n << ", seed " << seed;
      std::sort(got.begin(), got.end());
      for (size_t i = 0; i < n; ++i) EXPECT_EQ(got[i], i) << "each job once";
    }
  }
}

TEST(Assignment, refuses_what_is_no_number) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}) {
    std::vector<std::vector<double>> value = random_values(3, 1);
    value[1][2] = bad;
    EXPECT_THROW(best_assignment(value), std::invalid_argument);
  }
}

TEST(FreeOffsets, are_those_with_the_most_attention_for_each_pair) {
  // Of ten patches: distance 9 has two pairs and little attention in all, but more for each of them than distance 1.
  std::vector<double> attention(10, 0.01);
  attention[0] = 10;
  attention[1] = 3.6;  // 18 pairs
  attention[9] = 0.6;  // 2 pairs
  attention[4] = 2.0;  // 12 pairs
  EXPECT_EQ(free_offsets(attention, 12), (Distances{0, 9}));
  EXPECT_EQ(free_offsets(attention, 30), (Distances{0, 1, 9}));
  EXPECT_EQ(free_offsets(attention, 100).size(), 10U);
  for (int64_t pairs = 0; pairs <= 100; ++pairs) EXPECT_LE(pairs_of(free_offsets(attention, pairs), 10), pairs);
  EXPECT_DOUBLE_EQ(kept(attention, {0, 9}), 10.6);
}

TEST(WindowOffsets, end_before_the_first_that_does_not_fit) {
  const std::vector<double> attention(10, 1.0);
  EXPECT_EQ(window_offsets(attention, 9), Distances{});
  EXPECT_EQ(window_offsets(attention, 10), Distances{0});
  EXPECT_EQ(window_offsets(attention, 28), (Distances{0, 1}));
  EXPECT_EQ(window_offsets(attention, 100).size(), 10U);
}

TEST(ArrayOffsets, give_each_head_the_row_that_it_looks_along) {
  const auto looking_along = [](int64_t row) {
    std::vector<double> attention(196, 0.0);
    for (const int64_t d : fibonacci_elements(wythoff_row(row), 195)) attention[static_cast<size_t>(d)] = 1;
    return attention;
  };
  const std::vector<std::vector<double>> heads = {looking_along(3), looking_along(1), looking_along(2)};
  const std::vector<Distances> rows = array_offsets(heads, 196 * 196);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0], fibonacci_elements(wythoff_row(3), 195));
  EXPECT_EQ(rows[1], fibonacci_elements(wythoff_row(1), 195));
  EXPECT_EQ(rows[2], fibonacci_elements(wythoff_row(2), 195));
  for (const Distances& row : array_offsets(heads, 1000)) EXPECT_LE(pairs_of(row, 196), 1000);
}

class OffsetsFile : public testing::Test {
 protected:
  std::string write(const std::string& text) {
    std::ofstream(file_) << text;
    return file_;
  }
  std::string refusal(const std::string& text) {
    try {
      read_measured_offsets(write(text));
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "nothing";
  }

  fib::test::TemporaryDirectory directory_;
  const std::string file_ = directory_ / "measured.offsets";
};

TEST_F(OffsetsFile, is_read_as_it_was_written) {
  const MeasuredOffsets offsets{
      16, 2, {{{{0, 3, 15}, {}}, {}}, {{{1}, {0}}, {}}, {{}, "local:w=2"}, {{{2, 4}, {5}}, {}}}};
  EXPECT_EQ(read_measured_offsets(write(to_text(offsets))), offsets);
}

TEST_F(OffsetsFile, says_the_line_that_is_wrong) {
  const std::string title = "fibottention-offsets 1 16 1 2\n";
  EXPECT_NE(refusal("a picture").find("line 1: expected 'fibottention-offsets 1 PATCHES LAYERS HEADS'"),
            std::string::npos);
  EXPECT_NE(refusal(title + "0 0 1\n").find("line 2: expected the distances of layer 0, head 1"), std::string::npos);
  EXPECT_NE(refusal(title + "0 0 1\n0 1 16\n").find("line 3: expected an integer from 0 to 15, got '16'"),
            std::string::npos);
  EXPECT_NE(refusal(title + "0 0 3 3\n0 1\n").find("line 2: expected an integer from 4 to 15"), std::string::npos);
  EXPECT_NE(refusal(title + "0 0\n0 1\n1 0\n").find("line 4: expected no more"), std::string::npos);
  EXPECT_NE(refusal(title + "0 as offsets:other\n").find("line 2: expected another attention"), std::string::npos);
  EXPECT_NE(refusal("fibottention-offsets 1 16 99999 2\n").find("from 1 to 4096"), std::string::npos);
}

TEST_F(OffsetsFile, is_not_waited_for_where_it_is_a_pipe) {
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  try {
    read_measured_offsets(file_);
    ADD_FAILURE() << "was read";
  } catch (const std::runtime_error& error) {
    EXPECT_TRUE(fib::test::mentions(error.what(), "it is no regular file"));
  }
}

TEST_F(OffsetsFile, makes_the_support_of_each_layer) {
  const std::string file = write(to_text({16, 2, {{{{0, 3}, {1, 5}}, {}}, {{{2}, {0}}, {}}, {{}, "local:w=2"}}}));
  const auto made = [&](int64_t layer, int64_t patches = 16, int64_t heads = 2) {
    return make_support(AttentionSpec::parse("offsets:" + file),
                        {.patches = patches, .cls = 1, .heads = heads, .layer = layer});
  };
  EXPECT_EQ(made(0).head(0).offsets, Distances{3});
  EXPECT_TRUE(made(0).head(0).diagonal);
  EXPECT_EQ(made(0).head(1).offsets, (Distances{1, 5}));
  EXPECT_FALSE(made(0).head(1).diagonal);
  EXPECT_EQ(made(1).head(0).offsets, Distances{2});
  EXPECT_EQ(made(0).patch_pairs(0), pairs_of({0, 3}, 16));
  EXPECT_EQ(made(2).head(1).offsets, (Distances{1, 2})) << "another attention's";
  EXPECT_EQ(made(2, 25, 3).head(2).offsets, (Distances{1, 2})) << "which any number of patches and heads can have";
  const AttentionSpec spec = AttentionSpec::parse("offsets:" + file), local = AttentionSpec::parse("local:w=2");
  EXPECT_EQ(in_layer(spec, 0).to_string(), spec.to_string());
  EXPECT_EQ(in_layer(spec, 2).to_string(), local.to_string());
  EXPECT_EQ(in_layer(spec, 3).to_string(), spec.to_string());
  EXPECT_EQ(in_layer(local, 2).to_string(), local.to_string());
  EXPECT_THROW(made(3), std::invalid_argument);
  EXPECT_THROW(made(0, 25), std::invalid_argument);
  EXPECT_THROW(made(0, 16, 3), std::invalid_argument);
  EXPECT_EQ(AttentionSpec::parse("offsets:" + file).to_string(), "offsets:file=" + file);
  EXPECT_THROW(AttentionSpec::parse("fibottention:" + file), std::invalid_argument) << "only this one takes a file";
}

}  // namespace
}  // namespace fib
