// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "files.h"
#include "report/run_comparison.h"
#include "report/run_record.h"

namespace fib::report {
namespace {

RunRecord record(const std::string& attention, int64_t seed, double score) {
  RunRecord run;
  run.name = attention + "-" + std::to_string(seed);
  run.model = "vit_nano";
  run.data = "cifar10";
  run.attention = attention;
  run.machine = "a processor";
  run.seed = seed;
  run.epochs = 10;
  run.train_samples = 49000, run.test_samples = 10000;
  run.test_score = score;
  return run;
}

/// Two results of three seeds: 60, 61, 62 and 62, 63.5, 63.
std::vector<RunRecord> three_seeds() {
  return {record("full", 0, 0.60),         record("full", 1, 0.61),         record("full", 2, 0.62),
          record("fibottention", 2, 0.63), record("fibottention", 0, 0.62), record("fibottention", 1, 0.635)};
}

TEST(OverSeeds, joins_runs_that_differ_by_their_seed_alone) {
  const auto groups = over_seeds(three_seeds());
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].name, "full");
  EXPECT_EQ(groups[1].runs, (std::vector<size_t>{3, 4, 5}));
  EXPECT_NEAR(groups[0].score.mean, 61, 1e-9);
  EXPECT_EQ(interval_text(groups[0].score), "61.00 ± 2.48") << "4.303 · 1 / √3";
}

TEST(OverSeeds, pairs_results_by_their_seed) {
  const auto groups = over_seeds(three_seeds());
  EXPECT_FALSE(groups[0].against_first);
  ASSERT_TRUE(groups[1].against_first);
  EXPECT_NEAR(groups[1].against_first->difference, (2 + 2.5 + 1) / 3, 1e-9);
  const auto reference = analysis::paired_t_test({62, 63.5, 63}, {60, 61, 62});
  EXPECT_NEAR(groups[1].against_first->p, reference.p, 1e-9);
}

TEST(OverSeeds, marks_what_is_more_than_chance) {
  EXPECT_EQ(difference_text(analysis::PairedTest{3, 1.5, 0.2}), "+1.50, p 0.200");
  EXPECT_EQ(difference_text(analysis::PairedTest{3, -1.5, 0.04}), "-1.50, p 0.040 *");
  EXPECT_EQ(difference_text(analysis::PairedTest{3, 1.5, 0.0002}), "+1.50, p < 0.001 *");
  EXPECT_EQ(difference_text({}), "–");
}

TEST(OverSeeds, says_nothing_of_single_runs) {
  EXPECT_TRUE(over_seeds({record("full", 0, 0.6), record("fibottention", 0, 0.6)}).empty());
  EXPECT_TRUE(over_seeds({}).empty());
}

TEST(OverSeeds, does_not_join_or_compare_other_data_or_lengths) {
  std::vector<RunRecord> runs = three_seeds();
  for (size_t i = 3; i < 6; ++i) runs[i].attention = "full", runs[i].data = "mnist";
  const auto groups = over_seeds(runs);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[1].name, "full, vit_nano, mnist, 10 epochs of 49,000 images");
  EXPECT_EQ(difference_text(groups[1].against_first), "–");
  runs = three_seeds();
  runs[2].epochs = 20;
  EXPECT_EQ(over_seeds(runs).size(), 3U);
  runs = three_seeds();
  for (size_t i = 3; i < 6; ++i) runs[i].epochs = 20;
  EXPECT_FALSE(over_seeds(runs)[1].against_first) << "twice as long";
}

TEST(OverSeeds, counts_a_seed_that_was_trained_twice_once) {
  std::vector<RunRecord> runs = three_seeds();
  runs[2].seed = 0;
  EXPECT_EQ(over_seeds(runs)[0].score.count, 2);
}

TEST(KeptRows, are_read_as_the_runs_they_came_from) {
  const test::TemporaryDirectory folder;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const RunRecord& run : three_seeds()) rows.push_back(run_json(run));
  const auto file = folder.path() / "kept.json";
  std::ofstream(file) << nlohmann::ordered_json{{"rows", rows}};
  const std::vector<RunRecord> read = read_runs(file);
  ASSERT_EQ(read.size(), 6U);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(run_json(read[i]), rows[i]);
}

TEST(KeptRows, that_are_damaged_are_refused_with_the_name_of_their_file) {
  const test::TemporaryDirectory folder;
  const auto file = folder.path() / "kept.json";
  nlohmann::json row = run_json(record("full", 0, 0.6));
  row.erase("seed");
  for (const std::string& text : {std::string("{"), std::string("{}"), std::string(R"({"rows": []})"),
                                  nlohmann::json{{"rows", {row}}}.dump(), std::string(R"({"rows": [{"run": 3}]})")}) {
    std::ofstream(file) << text;
    try {
      read_runs(file);
      ADD_FAILURE() << text;
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find("kept.json"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace fib::report
