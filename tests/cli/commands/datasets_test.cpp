// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/run_fib.h"
#include "files.h"

namespace {

using fib::test::mentions;

class DatasetsCommand : public testing::Test {
 protected:
  /// With an empty folder for data, so that what this machine has is of no account.
  Outcome run(const std::string& arguments) {
    ::setenv("FIB_DATA", root_.path().c_str(), 1);
    Outcome outcome = run_fib("datasets " + arguments);
    ::unsetenv("FIB_DATA");
    return outcome;
  }
  fib::test::TemporaryDirectory root_;
};

TEST_F(DatasetsCommand, lists_what_is_known_and_how_to_get_what_is_missing) {
  const Outcome o = run("");
  EXPECT_EQ(o.code, 0);
  for (const char* name : {"fashion-mnist", "mnist", "cifar10", "cifar100", "tiny-imagenet", "imagenet", "folder:PATH"})
    EXPECT_TRUE(mentions(o.out, name));
  EXPECT_TRUE(mentions(o.out, "scripts/get-data.sh cifar10"));
  EXPECT_TRUE(mentions(o.out, (root_ / "cifar-10-batches-bin").string()));
  EXPECT_TRUE(mentions(o.out, "FIB_DATA"));
  EXPECT_EQ(run("--quiet").out, "");
}

TEST_F(DatasetsCommand, json_says_where_it_looked_and_what_it_found) {
  std::filesystem::create_directories(root_ / "imagenet" / "train");
  std::filesystem::create_directories(root_ / "imagenet" / "val");
  const auto list = nlohmann::json::parse(run("--json").out);
  ASSERT_EQ(list.size(), size_t{11});
  const auto row = [&](const std::string& name) {
    return *std::find_if(list.begin(), list.end(), [&](const auto& r) { return r["name"] == name; });
  };
  EXPECT_EQ(row("imagenet")["found"], (root_ / "imagenet").string());
  EXPECT_TRUE(row("cifar100")["found"].is_null());
  EXPECT_EQ(row("cifar100")["looked_in"][0], (root_ / "cifar-100-binary").string());
  EXPECT_EQ(row("cifar100")["classes"], 100);
  EXPECT_EQ(row("mnist")["mean"].size(), size_t{1});
  EXPECT_TRUE(row("folder")["classes"].is_null());
}

TEST(Trust, the_folder_for_data_is_shown_not_obeyed) {
  ::setenv("FIB_DATA", "/no/such\x1b[31m", 1);
  const Outcome o = run_fib("datasets");
  ::unsetenv("FIB_DATA");
  EXPECT_TRUE(mentions(o.out, "below /no/such\\x1b[31m;"));
  EXPECT_EQ(o.out.find('\x1b'), std::string::npos);
}

TEST_F(DatasetsCommand, verification_fails_with_one_line) {
  const Outcome missing = run("--verify cifar10");
  EXPECT_EQ(missing.code, 1);
  EXPECT_TRUE(mentions(missing.err, "data_batch_1.bin"));
  EXPECT_EQ(std::count(missing.err.begin(), missing.err.end(), '\n'), 1);
  const Outcome unknown = run("--verify cifar");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(mentions(unknown.err, "unknown dataset 'cifar'"));
}

}  // namespace
