// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "run_fib.h"

namespace {

/// A folder with a copy of fib alone; what stands beside it is for the test to say.
class Launch : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = scratch_path("launch");
    std::filesystem::create_directories(folder_ / "bin");
    std::filesystem::copy_file(FIB_BINARY, folder_ / "bin/fib");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void place_program(const std::string& where, const std::string& script) {
    const std::filesystem::path path = folder_ / where;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << "#!/bin/sh\n" << script;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }

  int run(const std::string& environment, const std::string& arguments) {
    const std::string command = environment + " " + (folder_ / "bin/fib").string() + " " + arguments + " >" +
                                (folder_ / "out").string() + " 2>&1";
    const int status = std::system(command.c_str());
    said_ = read_file(folder_ / "out");
    return WEXITSTATUS(status);
  }

  std::filesystem::path folder_;
  std::string said_;
};

TEST_F(Launch, says_in_one_line_that_the_torch_part_is_missing) {
  EXPECT_EQ(run("", "bench attention"), 1);
  EXPECT_NE(said_.find("needs fib-torch"), std::string::npos) << said_;
  EXPECT_EQ(std::count(said_.begin(), said_.end(), '\n'), 1);
}

TEST_F(Launch, hands_all_arguments_on) {
  place_program("bin/fib-torch", "echo \"$@\"; exit 7");
  EXPECT_EQ(run("", "--threads 3 bench attention --json"), 7);
  EXPECT_EQ(said_, "--threads 3 bench attention --json\n");
}

TEST_F(Launch, answers_help_and_mistakes_without_the_torch_part) {
  for (const char* command : {"train", "prune", "infer", "classify", "eval", "report", "bench data", "bench model",
                              "analyze corruption", "analyze attention-maps"}) {
    EXPECT_EQ(run("", command + std::string(" --help")), 0);
    EXPECT_NE(said_.find("Example: fib "), std::string::npos) << command;
    EXPECT_EQ(run("", command + std::string(" --quite")), 2);
    EXPECT_NE(said_.find("did you mean '--quiet'?"), std::string::npos) << said_;
  }
}

TEST_F(Launch, knows_the_command_behind_any_global_option) {
  place_program("bin/fib-torch", "echo \"$@\"");
  EXPECT_EQ(run("", "--quiet --threads=2 bench attention"), 0);
  EXPECT_EQ(said_, "--quiet --threads=2 bench attention\n");
}

TEST_F(Launch, finds_the_installed_program) {
  place_program("libexec/fibottention/fib-torch", "echo installed");
  EXPECT_EQ(run("", "bench attention"), 0);
  EXPECT_EQ(said_, "installed\n");
}

TEST_F(Launch, loads_no_torch) {
  EXPECT_EQ(run("LD_TRACE_LOADED_OBJECTS=1", ""), 0);
  EXPECT_NE(said_.find("libfmt"), std::string::npos) << said_;
  EXPECT_EQ(said_.find("libtorch"), std::string::npos) << said_;
}

TEST_F(Launch, keeps_memory_between_steps_unless_told_otherwise) {
  place_program("bin/fib-torch", "echo $GLIBC_TUNABLES");
  EXPECT_EQ(run("", "bench attention"), 0);
  EXPECT_NE(said_.find("glibc.malloc.hugetlb=1"), std::string::npos) << said_;
  EXPECT_EQ(run("GLIBC_TUNABLES=glibc.malloc.check=0", "bench attention"), 0);
  EXPECT_EQ(said_, "glibc.malloc.check=0\n");
}

TEST_F(Launch, lets_waiting_threads_sleep_unless_told_otherwise) {
  place_program("bin/fib-torch", "echo $OMP_WAIT_POLICY");
  run("env -u OMP_WAIT_POLICY", "bench attention");
  EXPECT_EQ(said_, "passive\n");
  run("env OMP_WAIT_POLICY=active", "bench attention");
  EXPECT_EQ(said_, "active\n");
}

}  // namespace
