// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/run_fib.h"
#include "few_threads.h"
#include "robots/recording.h"

namespace {

using fib::test::mentions;
using nlohmann::json;

class SimulateCommand : public testing::Test {
 protected:
  void SetUp() override { fib::test::write_recording(folder_.path()); }
  std::string source() const { return "zarr:" + folder_.path().string(); }
  static void expect_refused(const Outcome& o, int code, const std::string& part) {
    EXPECT_EQ(o.code, code) << o.err;
    EXPECT_TRUE(mentions(o.err, part));
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1);
  }
  fib::test::TemporaryDirectory folder_;
};

TEST_F(SimulateCommand, replays_a_recording_and_prints_nothing_but_json) {
  const Outcome o = run_fib("simulate pusht --json --replay " + source());
  ASSERT_EQ(o.code, 0) << o.err;
  const json result = json::parse(o.out);
  EXPECT_EQ(result["episodes"], 2);
  EXPECT_EQ(result["steps"], 17);
  for (const char* key : {"agent_error", "block_error", "angle_error"}) {
    for (const char* rank : {"median", "p90", "p99", "max"}) EXPECT_LT(result[key][rank].get<double>(), 1e-3) << key;
  }
  EXPECT_LT(result["image_error"]["mean"].get<double>(), 0.1);
  EXPECT_LT(result["image_error"]["p99"].get<double>(), 0.5);
  EXPECT_TRUE(mentions(run_fib("simulate pusht --replay " + source()).out, "2 episodes, 17 steps"));
}

TEST_F(SimulateCommand, takes_the_threads_that_it_is_told_or_says_why_not) {
  if (fib::test::kSanitized) GTEST_SKIP() << "sanitizers need more address space than a system with few threads has";
  const fib::test::FewThreads few;
  expect_refused(run_fib("--threads 1000 simulate pusht --replay " + source()), 1, "cannot start 1000 threads: after");
  expect_refused(run_fib("--threads 1000 simulate lift"), 1, "cannot start 1000 threads: after");
}

TEST_F(SimulateCommand, writes_a_strip_with_the_recording_above) {
  const std::string file = scratch_path("strip.png");
  ASSERT_EQ(run_fib("simulate pusht --quiet --episode 1 --png " + file + " --replay " + source()).code, 0);
  const std::string png = read_file(file);
  ASSERT_GT(png.size(), size_t{24});
  const auto number = [&](size_t at) {
    return static_cast<unsigned char>(png[at + 2]) * 256 + static_cast<unsigned char>(png[at + 3]);
  };
  EXPECT_EQ(number(16), 7 * 96);  // all seven steps
  EXPECT_EQ(number(20), 2 * 96);
}

TEST_F(SimulateCommand, writes_a_video_where_an_encoder_was_built) {
  const std::string file = scratch_path("play.mp4");
  const Outcome o = run_fib("simulate pusht --quiet --video " + file + " --replay " + source());
  if (!std::filesystem::exists(std::filesystem::path(FIB_BINARY).parent_path() / "libfib_video.so")) {
    return expect_refused(o, 1, "videos need libfib_video.so");
  }
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(read_file(file).substr(4, 4), "ftyp");
  EXPECT_FALSE(std::filesystem::exists(file + ".part"));
  expect_refused(run_fib("simulate pusht --quiet --video /nowhere/play.mp4 --replay " + source()), 1,
                 "/nowhere/play.mp4");
}

TEST_F(SimulateCommand, plays_the_same_from_the_same_seed) {
  const auto play = [](const std::string& more) {
    const Outcome o = run_fib("simulate pusht --play --json --episodes 3 " + more);
    EXPECT_EQ(o.code, 0) << o.err;
    return json::parse(o.out);
  };
  const json still = play("--actions still"), random = play("--seed 7 --threads 1");
  EXPECT_EQ(still["scores"].size(), size_t{3});
  EXPECT_EQ(still["episodes"], 3);
  EXPECT_EQ(random["scores"], play("--seed 7")["scores"]);
  EXPECT_NE(random["scores"], still["scores"]);
}

TEST_F(SimulateCommand, replaces_no_device_by_a_video) {
  const std::string pipe = folder_ / "pipe.mp4";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expect_refused(run_fib("simulate pusht --play --episodes 1 --video " + pipe), 1, "is not a regular file");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST_F(SimulateCommand, refuses_with_one_line) {
  expect_refused(run_fib("simulate pusht"), 2, "--replay zarr:DIR or --play");
  expect_refused(run_fib("simulate pusht --replay " + folder_.path().string()), 2, "accepted is zarr:DIR");
  expect_refused(run_fib("simulate pusht --replay zarr:/nowhere"), 1, "no zarr v2 array here");
  expect_refused(run_fib("simulate pusht --episode 2 --replay " + source()), 2, "--episode 2: there are 2");
  expect_refused(run_fib("simulate pusht --play --actions dance"), 2, "--actions");
  expect_refused(run_fib("simulate pusht --play --video a.txt"), 2, "--video takes a name that ends in .mp4");
  expect_refused(run_fib("simulate pusht --play --png a.svg"), 2, "--png takes a name that ends in .png");
  expect_refused(run_fib("simulate pusht --play --video /nowhere/a.mp4"), 1, "/nowhere/a.mp4");
  std::filesystem::remove(folder_ / "data/img/1.0.0.0");
  expect_refused(run_fib("simulate pusht --replay " + source()), 1, "chunk 1.0.0.0 is missing");
  expect_refused(run_fib("simulate push"), 2, "push");
}

}  // namespace
