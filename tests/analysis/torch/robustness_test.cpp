// SPDX-License-Identifier: Apache-2.0
#include "analysis/torch/robustness.h"

#include <gtest/gtest.h>

#include "data/corruptions/corruption.h"
#include "noise_model.h"
#include "training/torch/classification.h"

namespace fib::analysis {
namespace {

TEST(Robustness, averages_over_severities_and_corruptions) {
  Robustness r;
  r.top1 = {{"fog", {{1, 0.8}, {5, 0.2}}}, {"snow", {{1, 0.6}, {5, 0.4}}}};
  EXPECT_DOUBLE_EQ(r.mean_of("fog"), 0.5);
  EXPECT_DOUBLE_EQ(r.mean_at(1), 0.7);
  EXPECT_DOUBLE_EQ(r.mean_at(5), 0.3);
  EXPECT_DOUBLE_EQ(r.mean(), 0.5);
}

TEST(Robustness, is_the_accuracy_on_the_corrupted_images) {
  const DatasetPtr images = noise_images(6);
  const training::TrainedModel s = untrained_model("fibottention", images);
  std::vector<std::string> heard;
  const Robustness r = measure_robustness(s, {.corruptions = {"contrast"}, .severities = {1, 5}, .images = 4},
                                          [&](int64_t, const std::string& name) { heard.push_back(name); });
  EXPECT_EQ(heard, (std::vector<std::string>{"contrast", "contrast"}));
  EXPECT_EQ(r.images, 4);
  EXPECT_EQ(r.source, "");
  training::ProcessGroup alone;
  for (int severity : {1, 5}) {
    const auto dark = std::make_shared<corruptions::CorruptedDataset>(
        images, corruptions::Corruption{.name = "contrast", .severity = severity});
    const auto chosen = training::evenly_chosen(dark, 4);
    EXPECT_EQ(r.top1.at("contrast").at(severity), training::measure_accuracy(*s.module, *s.loader(chosen), alone).top1);
  }
}

}  // namespace
}  // namespace fib::analysis
