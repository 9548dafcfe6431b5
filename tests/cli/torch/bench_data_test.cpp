// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/run_fib.h"
#include "files.h"
#include "tiny_mnist.h"

namespace {

TEST(BenchData, compares_a_loader_with_the_training_it_feeds) {
  const fib::test::TemporaryDirectory folder;
  fib::test::write_tiny_mnist(folder / "data");
  const Outcome outcome =
      run_fib("bench data --json --model vit_nano_patch2_28 --batch 16 --seconds 0.05 --data mnist:" +
              (folder / "data").string());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report.at("model"), "vit_nano_patch2_28");
  const double loader = report.at("loader_images_per_second"), training = report.at("training_images_per_second");
  EXPECT_GT(loader, 0);
  EXPECT_GT(training, 0);
  EXPECT_DOUBLE_EQ(report.at("ratio").get<double>(), loader / training);
}

TEST(BenchData, says_what_data_is_missing) {
  const Outcome outcome = run_fib("bench data --data mnist:/nowhere");
  EXPECT_NE(outcome.code, 0);
  EXPECT_NE(outcome.err.find("/nowhere"), std::string::npos) << outcome.err;
}

}  // namespace
