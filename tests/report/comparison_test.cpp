// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "files.h"
#include "report/run_comparison.h"

namespace fib::report {
namespace {

RunRecord record(const std::string& name) {
  RunRecord run;
  run.name = name;
  run.model = "vit_nano";
  run.data = "mnist";
  run.test_samples = 1000;
  run.test_score = 0.9;
  run.samples_per_second = 100;
  run.pair_share = 1;
  return run;
}

TEST(Comparison, says_what_a_run_gains) {
  RunRecord fib = record("fib");
  fib.pair_share = 0.03;
  fib.samples_per_second = 340;
  fib.test_score = 0.904;
  EXPECT_EQ(
      comparison(fib, record("full")),
      "fib looks at 3.0 % of the pairs, trains 3.4 × as fast as full and is 0.4 points better on the test images.");
}

TEST(Comparison, knows_that_a_lower_loss_is_better) {
  RunRecord text = record("local"), full = record("full");
  text.score = full.score = "loss", text.samples = full.samples = "windows";
  text.test_score = 1.744, full.test_score = 1.894;
  EXPECT_TRUE(test::mentions(comparison(text, full), "and is 0.150 better by its loss on the test windows."));
  EXPECT_TRUE(test::mentions(comparison(full, text), "and is 0.150 worse by its loss on the test windows."));
}

TEST(Comparison, does_not_judge_runs_of_other_data_models_or_test_sets) {
  const RunRecord full = record("full");
  RunRecord other = record("other");
  other.data = "cifar10";
  EXPECT_EQ(comparison(other, full), "other is not compared with full: it has another dataset (cifar10, not mnist).");
  EXPECT_EQ(speed_ratio(other, full), "–");
  other = record("other");
  other.model = "vit_tiny";
  EXPECT_NE(why_not_comparable(other, full), "");
  other = record("other");
  other.test_samples = 200;
  EXPECT_NE(comparison(other, full).find("another number of test images (200, not 1,000)"), std::string::npos);
}

TEST(Comparison, names_clips_and_times_no_run_against_another_machine) {
  RunRecord clips = record("clips");
  clips.samples = "clips";
  clips.samples_per_second = 200;
  RunRecord full = record("full");
  EXPECT_EQ(comparison(clips, full),
            "clips looks at 100.0 % of the pairs, trains 2.0 × as fast as full and is as good on the test clips.");
  clips.machine = "AMD", full.machine = "Intel";
  EXPECT_EQ(speed_ratio(clips, full), "–");
}

TEST(Comparison, has_no_ratio_where_a_speed_is_not_known) {
  RunRecord untimed = record("untimed");
  untimed.samples_per_second = 0;
  for (const auto& [a, b] : {std::pair{untimed, record("full")}, {record("full"), untimed}, {untimed, untimed}}) {
    EXPECT_EQ(speed_ratio(a, b), "–");
    for (const char* nonsense : {"inf", "nan"})
      EXPECT_EQ(comparison(a, b).find(nonsense), std::string::npos) << comparison(a, b);
  }
  EXPECT_EQ(known_number(0, 1, " ms"), "–");
  EXPECT_EQ(known_rate(2.314, " images/s"), "2.31 images/s");
  EXPECT_EQ(known_rate(225.4, ""), "225");
}

}  // namespace
}  // namespace fib::report
