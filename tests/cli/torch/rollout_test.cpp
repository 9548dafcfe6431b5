// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "cli/run_fib.h"
#include "robots/recording.h"

namespace {

using fib::test::mentions;

void expect_one_line(const Outcome& o, int code, const std::string& part) {
  EXPECT_EQ(o.code, code) << o.err;
  EXPECT_TRUE(mentions(o.err, part));
  EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
}

TEST(RolloutCommand, refuses_what_is_no_policy_in_one_line) {
  const fib::test::TemporaryDirectory run;
  expect_one_line(run_fib("rollout --run " + run.path().string()), 1, "holds no run");
  fib::test::write_file(run / "config.toml", "[run]\ntask = \"classification\"\n");
  expect_one_line(run_fib("rollout --run " + run.path().string()), 2, "accepted: a run of the tasks pusht, lift, can");
  fib::test::write_file(run / "config.toml", "[run]\ntask = \"pusht\"\n");
  expect_one_line(run_fib("rollout --run " + run.path().string()), 1, "has no weights yet");
}

/// A recording whose third chunk of images is gone.
TEST(PolicyTraining, refuses_damaged_demonstrations_in_one_line) {
  const fib::test::TemporaryDirectory folder, out;
  fib::test::write_recording(folder.path());
  std::filesystem::remove(folder.path() / "data/img/2.0.0.0");
  const std::string begin = "train --quiet --task pusht --model pusht_small --out " + (out / "run").string();
  expect_one_line(run_fib(begin + " --data zarr:" + folder.path().string()), 1, "2.0.0.0");
  expect_one_line(run_fib(begin + " --data cifar10"), 2, "accepted is zarr:DIR");
}

}  // namespace
