// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <numeric>

#include "robots/pusht.h"
#include "robots/recording.h"

namespace fib::robots {
namespace {

double greatest(const std::vector<double>& values) { return *std::max_element(values.begin(), values.end()); }

TEST(Replay, of_our_own_recording_repeats_it) {
  const test::TemporaryDirectory folder;
  test::write_recording(folder.path());
  const Demonstrations all = read_demonstrations(folder.path());
  std::atomic<int> heard{0};
  const std::vector<ReplayErrors> errors = replay_all(folder.path(), all, [&] { ++heard; });
  EXPECT_EQ(heard, 2);
  ASSERT_EQ(errors.size(), size_t{2});
  EXPECT_EQ(errors[0].agent.size(), size_t{11});
  for (const ReplayErrors& e : errors) {
    EXPECT_LT(greatest(e.agent), 1e-4);  // recorded in float32
    EXPECT_LT(greatest(e.block), 1e-3);
    EXPECT_LT(greatest(e.image), 0.5);
  }
}

TEST(Play, standing_still_changes_nothing) {
  const Playback playback = play(100002, [](const PushTState& s) { return s.agent; });
  EXPECT_EQ(playback.scenes.size(), size_t{kPushTMaxSteps + 1});
  EXPECT_NEAR(playback.score, coverage(playback.scenes.front().state.block) / kPushTSolved, 1e-9);
}

/// The published demonstrations, where FIB_PUSHT_ZARR says they are: whatever is wrong in physics, control or drawing
/// shows here.
TEST(Replay, of_the_published_demonstrations_stays_with_them) {
  const char* folder = std::getenv("FIB_PUSHT_ZARR");
  if (folder == nullptr) GTEST_SKIP() << "FIB_PUSHT_ZARR does not say where pusht_cchi_v7_replay.zarr is";
  Demonstrations all = read_demonstrations(folder);
  EXPECT_EQ(all.episodes.size(), size_t{206});
  EXPECT_EQ(all.states.size(), size_t{25650});
  all.episodes.resize(24);
  std::vector<double> block, image;
  for (const ReplayErrors& e : replay_all(folder, all, [] {})) {
    EXPECT_LT(greatest(e.agent), 1e-3);
    block.insert(block.end(), e.block.begin(), e.block.end());
    image.insert(image.end(), e.image.begin(), e.image.end());
  }
  std::sort(block.begin(), block.end());
  EXPECT_LE(block[block.size() / 2], 0.001);
  EXPECT_LE(block[block.size() * 99 / 100], 0.5);
  EXPECT_LE(std::accumulate(image.begin(), image.end(), 0.0) / static_cast<double>(image.size()), 0.02);
  EXPECT_LE(greatest(image), 2);
}

}  // namespace
}  // namespace fib::robots
