// SPDX-License-Identifier: Apache-2.0
#include "robots/windows.h"

#include <gtest/gtest.h>

#include <set>

#include "files.h"
#include "robots/normalizer.h"

namespace fib::robots {
namespace {

/// The obvious sampler: lengthens each episode by copies of its ends, then cuts every stretch of the horizon's length.
std::vector<std::vector<int64_t>> slow_windows(std::span<const Episode> episodes, const WindowOptions& options) {
  std::vector<std::vector<int64_t>> windows;
  for (const Episode& episode : episodes) {
    std::vector<int64_t> rows(static_cast<size_t>(options.pad_before), episode.begin);
    for (int64_t r = episode.begin; r < episode.end; ++r) rows.push_back(r);
    rows.insert(rows.end(), static_cast<size_t>(options.pad_after), episode.end - 1);
    for (size_t i = 0; i + static_cast<size_t>(options.horizon) <= rows.size(); ++i) {
      windows.emplace_back(rows.begin() + static_cast<std::ptrdiff_t>(i),
                           rows.begin() + static_cast<std::ptrdiff_t>(i) + options.horizon);
    }
  }
  return windows;
}

std::vector<std::vector<int64_t>> rows_of(const std::vector<Window>& windows, int64_t horizon) {
  std::vector<std::vector<int64_t>> all;
  for (const Window& w : windows) {
    all.emplace_back();
    for (int64_t k = 0; k < horizon; ++k) all.back().push_back(w.row(k));
  }
  return all;
}

/// Episodes shorter than the horizon, exactly as long, and longer; every boundary is met.
TEST(Windows, are_those_of_a_slow_sampler) {
  const std::vector<Episode> episodes = episodes_from_ends({1, 3, 12, 20, 36, 53, 154}, 154, "ends");
  for (const WindowOptions& options : {WindowOptions{}, WindowOptions{16, 0, 0}, WindowOptions{4, 3, 3},
                                       WindowOptions{1, 0, 0}, WindowOptions{16, 1, 15}}) {
    EXPECT_EQ(rows_of(windows_of(episodes, options), options.horizon), slow_windows(episodes, options));
  }
}

TEST(Episodes, must_ascend_to_the_last_row) {
  EXPECT_EQ(episodes_from_ends({2, 5}, 5, "ends")[1].length(), 3);
  const auto error = [](std::vector<int64_t> ends) {
    return test::error_of([&] { episodes_from_ends(ends, 5, "ends"); });
  };
  EXPECT_TRUE(test::mentions(error({3, 2, 5}), "episode 1 ends at 2 and begins at 3"));
  EXPECT_TRUE(test::mentions(error({3, 3, 5}), "episode 1 ends at 3"));
  EXPECT_TRUE(test::mentions(error({-1, 5}), "episode 0 ends at -1"));
  EXPECT_TRUE(test::mentions(error({3, 6}), "the last episode ends at 6 of 5 rows"));
  EXPECT_TRUE(test::mentions(error({3}), "ends at 3 of 5 rows"));
}

TEST(EpisodeSplit, is_seeded_disjoint_and_bounded) {
  const EpisodeSplit split = split_episodes(206, {});
  EXPECT_EQ(split.validation.size(), size_t{4});
  EXPECT_EQ(split.training.size(), size_t{90});
  std::set<int64_t> all(split.training.begin(), split.training.end());
  all.insert(split.validation.begin(), split.validation.end());
  EXPECT_EQ(all.size(), size_t{94});
  EXPECT_GE(*all.begin(), 0);
  EXPECT_LT(*all.rbegin(), 206);
  EXPECT_EQ(split_episodes(206, {}).training, split.training);
  EXPECT_NE(split_episodes(206, {.seed = 43}).training, split.training);
  EXPECT_EQ(split_episodes(2, {}).training.size(), size_t{1});
  EXPECT_TRUE(test::mentions(test::error_of([] { split_episodes(1, {}); }), "1 episodes"));
}

TEST(Normalizer, become_minus_one_and_one) {
  std::vector<double> rows = {2, 7, 4, 7.00005, 3, 7};
  const Normalizer normalizer = Normalizer::of(rows, 2);
  const std::vector<double> before = rows;
  normalizer.normalize(rows);
  EXPECT_DOUBLE_EQ(rows[0], -1);
  EXPECT_DOUBLE_EQ(rows[2], 1);
  EXPECT_DOUBLE_EQ(rows[4], 0);
  EXPECT_DOUBLE_EQ(rows[1], 0);  // hardly moves: only shifted
  EXPECT_NEAR(rows[3], 0.00005, 1e-12);
  normalizer.restore(rows);
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_DOUBLE_EQ(rows[i], before[i]);
}

TEST(Demonstrations, are_named_by_kind) {
  EXPECT_EQ(demonstrations_folder("zarr:/a/b"), "/a/b");
  for (const char* wrong : {"", "zarr:", "/a/b", "hdf5:x"})
    EXPECT_THROW(demonstrations_folder(wrong), std::invalid_argument);
}

}  // namespace
}  // namespace fib::robots
