// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "data/fixtures.h"
#include "data/open_dataset.h"

namespace fib {
namespace {

using test::error_of;
using test::mentions;

/// 10 classes of unequal size: class c has 10 (c + 1) images, 550 in all, mixed.
std::vector<int64_t> unequal_labels() {
  std::vector<int64_t> labels;
  for (int round = 0; round < 100; ++round)
    for (int64_t c = 0; c < 10; ++c)
      if (round < 10 * (c + 1)) labels.push_back(c);
  return labels;
}

std::vector<int64_t> counts(const std::vector<int64_t>& labels, const std::vector<size_t>& part) {
  std::vector<int64_t> result(10);
  for (size_t i : part) ++result[static_cast<size_t>(labels[i])];
  return result;
}

bool contains(const std::vector<size_t>& large, const std::vector<size_t>& small) {
  return std::includes(large.begin(), large.end(), small.begin(), small.end());
}

TEST(Split, parts_are_disjoint_ascending_and_complete) {
  const auto labels = unequal_labels();
  const TrainingSplit split = split_training_set(labels, 10, {.validation_fraction = 0.2});
  EXPECT_EQ(split.validation.size(), size_t{110});
  EXPECT_EQ(split.train.size(), size_t{440});
  std::vector<size_t> all = split.train;
  all.insert(all.end(), split.validation.begin(), split.validation.end());
  std::sort(all.begin(), all.end());
  for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], i);
  EXPECT_TRUE(std::is_sorted(split.train.begin(), split.train.end()));
}

TEST(Split, every_class_gives_its_share) {
  const auto labels = unequal_labels();
  EXPECT_EQ(counts(labels, split_training_set(labels, 10, {.validation_fraction = 0.2}).validation),
            (std::vector<int64_t>{2, 4, 6, 8, 10, 12, 14, 16, 18, 20}));
  // 57 of 550: shares of 1.04 (c + 1), rounded by largest remainder to 57 exactly.
  const auto odd = counts(labels, split_training_set(labels, 10, {.validation_fraction = 57.0 / 550}).validation);
  int64_t sum = 0;
  for (int64_t c = 0; c < 10; ++c) {
    EXPECT_NEAR(static_cast<double>(odd[static_cast<size_t>(c)]), 57.0 * static_cast<double>(c + 1) / 55, 1);
    sum += odd[static_cast<size_t>(c)];
  }
  EXPECT_EQ(sum, 57);
}

TEST(Split, validation_depends_on_its_seed_and_size_alone) {
  const auto labels = unequal_labels();
  const auto base = split_training_set(labels, 10, {.validation_fraction = 50.0 / 550, .seed = 3});
  const auto small = split_training_set(
      labels, 10, {.validation_fraction = 50.0 / 550, .train_fraction = 0.1, .limit_per_class = 4, .seed = 3});
  EXPECT_EQ(base.validation, small.validation);
  EXPECT_NE(base.validation, split_training_set(labels, 10, {.validation_fraction = 50.0 / 550, .seed = 4}).validation);
}

TEST(Split, a_smaller_training_part_is_a_subset_of_a_larger_one) {
  const auto labels = unequal_labels();
  const auto part = [&](double fraction, int64_t limit) {
    return split_training_set(labels, 10,
                              {.validation_fraction = 0.1, .train_fraction = fraction, .limit_per_class = limit})
        .train;
  };
  EXPECT_TRUE(contains(part(1, 0), part(0.5, 0)));
  EXPECT_TRUE(contains(part(0.5, 0), part(0.25, 0)));
  EXPECT_TRUE(contains(part(1, 20), part(1, 5)));
  EXPECT_EQ(counts(labels, part(1, 5)), std::vector<int64_t>(10, 5));
}

TEST(Split, refuses_options_out_of_range) {
  const auto labels = unequal_labels();
  const auto error = [&](const SplitOptions& options) {
    return error_of([&] { split_training_set(labels, 10, options); });
  };
  EXPECT_TRUE(mentions(error({.validation_fraction = 1}), "validation fraction 1: accepted is 0 to below 1"));
  EXPECT_TRUE(mentions(error({.validation_fraction = -0.1}), "accepted is 0 to below 1"));
  EXPECT_TRUE(mentions(error({.validation_fraction = 0.9999}), "leaves none to train on"));
  EXPECT_TRUE(mentions(error({.train_fraction = 0}), "accepted is above 0 to 1"));
  EXPECT_TRUE(mentions(error({.train_fraction = 0.001}), "leaves none to train on"));
  EXPECT_TRUE(mentions(error({.limit_per_class = -1}), "accepted is 0 (no limit) or more"));
}

TEST(Subset, shows_the_chosen_items) {
  const Subset part(test::counting_dataset(20), {4, 17});
  ASSERT_EQ(part.size(), size_t{2});
  EXPECT_EQ(part.label(1), 7);
  EXPECT_EQ(part.image(1).pixels[0], 17);
  EXPECT_EQ(part.item_name(0), "memory image 4");
}

}  // namespace
}  // namespace fib
