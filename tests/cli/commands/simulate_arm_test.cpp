// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/run_fib.h"
#include "files.h"

namespace {

using fib::test::mentions;
using nlohmann::json;

bool arms_were_built() {
  return std::filesystem::exists(std::filesystem::path(FIB_BINARY).parent_path() / "libfib_arm.so");
}

void expect_one_line_of_refusal(const Outcome& o, int code, const std::string& part) {
  EXPECT_EQ(o.code, code) << o.err;
  EXPECT_TRUE(mentions(o.err, part));
  EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
}

TEST(SimulateArmCommand, records_what_its_expert_solves) {
  const fib::test::TemporaryDirectory folder;
  const std::string file = (folder / "demos.hdf5").string();
  const Outcome o = run_fib("simulate lift --quiet --json --episodes 1 --seed 100000 --record " + file);
  if (!arms_were_built()) return expect_one_line_of_refusal(o, 1, "build with libmujoco-dev");
  ASSERT_EQ(o.code, 0) << o.err;
  const json result = json::parse(o.out);
  EXPECT_EQ(result["recorded"], 1);
  EXPECT_EQ(result["mean_score"], 1.0);
  EXPECT_GT(result["steps"], 20);
  EXPECT_EQ(fib::test::read_file(file).substr(1, 3), "HDF");
  EXPECT_EQ(folder.entries(), size_t{1});
}

/// The paper's figure of sample frames, a strip for each robot.
TEST(SimulateArmCommand, draws_frames_of_every_robot_for_the_papers_figure) {
  if (!arms_were_built()) GTEST_SKIP() << "built without MuJoCo";
  const fib::test::TemporaryDirectory folder;
  const Outcome o = run_fib("reproduce figure-robots --out " + folder.path().string());
  ASSERT_EQ(o.code, 0) << o.err;
  for (const char* robot : {"lift", "can", "pusht"}) {
    const auto strip = folder / (std::string("figure-robots.tiny.") + robot + ".png");
    EXPECT_EQ(fib::test::read_file(strip).substr(1, 3), "PNG") << robot;
  }
}

TEST(SimulateArmCommand, refuses_with_one_line) {
  expect_one_line_of_refusal(run_fib("simulate can --episodes 2 --episode 2"), 2, "--episode 2: there are 2");
  expect_one_line_of_refusal(run_fib("simulate can --record /nowhere/f.hdf5"), 1, "/nowhere/f.hdf5");
  expect_one_line_of_refusal(run_fib("simulate can --record f.txt"), 2, "--record takes a name that ends in .hdf5");
  expect_one_line_of_refusal(run_fib("simulate lift --episodes 0"), 2, "--episodes");
}

}  // namespace
