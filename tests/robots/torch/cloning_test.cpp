// SPDX-License-Identifier: Apache-2.0
#include "robots/torch/cloning.h"

#include <gtest/gtest.h>

#include <numeric>

#include "models/torch/weights.h"
#include "robots/recording.h"
#include "robots/torch/mini_policy.h"
#include "robots/torch/rollout.h"
#include "training/recipe/options.h"
#include "training/torch/training_step.h"

namespace fib::robots {
namespace {

using test::mentions;
using training::RankInfo;
using training::Recipe;
using training::TaskBatch;

/// Two episodes, of 12 and 7 rows.
class Cloning : public testing::Test {
 protected:
  void SetUp() override {
    test::write_recording(folder_.path());
    all_ = read_demonstrations(folder_.path());
    recording_ = open_recording(find_robot("pusht"), "zarr:" + folder_.path().string());
  }

  RobotNormalizer normalizer() const { return RobotNormalizer::of(*recording_, mini_task()); }

  CloningData data() const {
    CloningData data{.normalizer = normalizer(), .training = nullptr, .validation = nullptr};
    data.training =
        std::make_unique<Recording>(*recording_, std::vector<int64_t>{0, 1}, mini_policy(), data.normalizer);
    data.validation = std::make_unique<Recording>(*recording_, std::vector<int64_t>{0}, mini_policy(), data.normalizer);
    return data;
  }

  std::unique_ptr<CloningTask> task(const RankInfo& rank = {}) const {
    torch::manual_seed(5);
    auto policy = std::make_shared<DiffusionPolicy>(mini_policy(), AttentionSpec::parse("fibottention-modified"));
    return std::make_unique<CloningTask>(recipe(), rank, std::move(policy), data());
  }

  static Recipe recipe() {
    Recipe recipe;
    recipe.optimizer.batch = 2;
    recipe.run.eval_images = 2;
    recipe.optimizer.lr = 1e-3;
    recipe.ema.rule = "power";
    recipe.run.task = "pusht";
    return recipe;
  }

  test::TemporaryDirectory folder_;
  Demonstrations all_;
  std::unique_ptr<RobotRecording> recording_;
};

std::vector<size_t> first_numbers(int64_t count) {
  std::vector<size_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), size_t{0});
  return numbers;
}

/// Every window, element by element: rows clamped to the episode, normalized one at a time, pixels averaged by hand.
TEST_F(Cloning, windows_are_those_of_a_slow_sampler) {
  const RobotNormalizer normalizer = this->normalizer();
  const Recording recording(*recording_, std::vector<int64_t>{0, 1}, mini_policy(), normalizer);
  const Normalizer& agent = normalizer.observed.at("agent_pos");
  std::vector<Window> slow;
  for (const Episode& episode : all_.episodes)
    for (int64_t start = episode.begin - 1; start + 16 <= episode.end + 7; ++start) slow.push_back({episode, start});
  ASSERT_EQ(recording.windows(), static_cast<int64_t>(slow.size()));
  const Demonstrated batch = recording.batch(first_numbers(recording.windows()));
  for (size_t w = 0; w < slow.size(); ++w) {
    const auto b = static_cast<int64_t>(w);
    for (int64_t k = 0; k < 16; ++k) {
      const Point action = all_.actions[static_cast<size_t>(slow[w].row(k))];
      const double x = normalizer.action.scale()[0] * action.x + normalizer.action.offset()[0];
      EXPECT_NEAR(batch.actions[b][k][0].item<double>(), x, 1e-6);
    }
    for (int64_t k = 0; k < 2; ++k) {
      const int64_t row = slow[w].row(k);
      const double y = agent.scale()[1] * all_.states[static_cast<size_t>(row)].agent.y + agent.offset()[1];
      EXPECT_NEAR(batch.observations[0][b][k][1].item<double>(), y, 1e-6);
      const std::vector<uint8_t> image = read_images(folder_.path(), {row, row + 1});
      double sum = 0;  // of the square at row 9, column 11: green
      for (size_t i = 0; i < 4; ++i)
        for (size_t j = 0; j < 4; ++j) sum += image[((9 * 4 + i) * 96 + 11 * 4 + j) * 3 + 1];
      EXPECT_NEAR(batch.observations[1][b][k][1][9][11].item<double>(), std::nearbyint(sum / 16) / 127.5 - 1, 1e-6);
    }
  }
}

TEST_F(Cloning, normalizer_survives_as_text) {
  const RobotNormalizer made = normalizer(), again = RobotNormalizer::from_json(made.to_json(), mini_task());
  for (size_t d = 0; d < 2; ++d) {
    EXPECT_EQ(again.action.scale()[d], made.action.scale()[d]);
    EXPECT_EQ(again.observed.at("agent_pos").offset()[d], made.observed.at("agent_pos").offset()[d]);
  }
  for (const char* wrong : {"", "{}", "[1]", R"({"agent_pos":{"scale":["x"],"offset":[]},"action":1})"})
    EXPECT_TRUE(mentions(test::error_of([&] { RobotNormalizer::from_json(wrong, mini_task()); }),
                         "limits of agent_pos and action"));
  EXPECT_TRUE(mentions(test::error_of([] { Normalizer::from({0, 1}, {0, 0}, 2); }), "no scale of 0"));
}

std::vector<TaskBatch> batches(CloningTask& task, int64_t epoch, int64_t first_step) {
  std::vector<TaskBatch> all;
  const auto stream = task.epoch(epoch, first_step);
  while (auto batch = stream->next()) all.push_back(*std::move(batch));
  return all;
}

TEST_F(Cloning, batches_depend_on_epoch_and_step_alone) {
  const auto first = task();
  ASSERT_GE(first->steps_per_epoch(), 2);
  const auto whole = batches(*first, 3, 0), rest = batches(*task(), 3, 1);
  ASSERT_EQ(static_cast<int64_t>(whole.size()), first->steps_per_epoch());
  ASSERT_EQ(rest.size(), whole.size() - 1);
  for (size_t i = 0; i < rest.size(); ++i)
    for (size_t k = 0; k < 3; ++k) EXPECT_TRUE(at::equal(rest[i].tensors[k], whole[i + 1].tensors[k]));
  const auto even = batches(*task({.rank = 0, .world = 2}), 3, 0), odd = batches(*task({.rank = 1, .world = 2}), 3, 0);
  EXPECT_TRUE(at::equal(at::cat({even[0].tensors[2], odd[0].tensors[2]}), whole[0].tensors[2]));
}

/// Two steps, with a new task, optimizer and network in between, are two steps.
TEST_F(Cloning, resumes_to_the_bit) {
  training::ProcessGroup group;
  const auto stepped = [&](CloningTask& t, training::TrainingStep& step, int64_t from, int64_t to) {
    const auto stream = t.epoch(0, from);
    for (int64_t i = from; i < to; ++i) {
      step.gradients(*stream->next(), i);
      step.update(1e-3);
    }
  };
  const auto straight = task(), begun = task(), resumed = task();
  training::TrainingStep one(*straight, nullptr, recipe(), group), two(*begun, nullptr, recipe(), group),
      three(*resumed, nullptr, recipe(), group);
  stepped(*straight, one, 0, 2);
  stepped(*begun, two, 0, 1);
  three.parameters().restore(two.parameters().values());
  three.optimizer().restore(two.optimizer().state());
  stepped(*resumed, three, 1, 2);
  EXPECT_TRUE(at::equal(three.parameters().values(), one.parameters().values()));
  EXPECT_TRUE(at::equal(three.optimizer().average(), one.optimizer().average()));
  EXPECT_FALSE(at::equal(two.parameters().values(), one.parameters().values()));
}

TEST_F(Cloning, is_judged_by_playing) {
  training::ProcessGroup group;
  const auto t = task();
  int64_t calls = 0;
  const auto result =
      t->evaluate(training::Split::validation, group, {.progress = [&](int64_t, int64_t) { ++calls; }, .cancel = {}});
  EXPECT_EQ(result.samples, 2);
  EXPECT_GE(result.value("score"), 0);
  EXPECT_LE(result.value("score"), 1);
  EXPECT_GT(result.value("loss"), 0);
  EXPECT_EQ(calls, 38);  // 300 steps, 8 at a time
  EXPECT_EQ(t->facts().score.name, "score");
}

/// An episode's first eight actions, which do not depend on the episodes beside it.
TEST_F(Cloning, episodes_depend_on_their_seed_alone) {
  torch::manual_seed(5);
  DiffusionPolicy policy(mini_policy(), AttentionSpec::parse("full"));
  const Robot& robot = find_robot("pusht");
  const Rollout together = roll_out(policy, robot, normalizer(), {.seeds = {7, 8}, .sampler = "ddim:2"});
  const Rollout alone = roll_out(policy, robot, normalizer(), {.seeds = {8}, .sampler = "ddim:2"});
  EXPECT_EQ(together.decisions, 38);
  EXPECT_EQ(together.steps(), 600);
  for (size_t i = 0; i <= 8; ++i) {
    for (size_t k = 0; k < 2; ++k)  // the agent's place
      EXPECT_NEAR(together.episodes[1].states[i][k], alone.episodes[0].states[i][k], 1e-2);
  }
  EXPECT_EQ(roll_out(policy, robot, normalizer(), {.seeds = {8}, .sampler = "ddim:2"}).scores(), alone.scores());
  EXPECT_TRUE(mentions(
      test::error_of([&] { roll_out(policy, robot, normalizer(), {.seeds = {8}, .sampler = "euler"}); }), "ddim:K"));
}

/// The directory of a run with untrained weights of the small policy.
class PolicyRun : public Cloning {
 protected:
  void write_config(const std::string& task) const {
    Recipe recipe;
    recipe.run.task = task;
    recipe.model.name = "pusht_small";
    recipe.model.attention = "full";
    test::write_file(run_ / "config.toml", training::write_toml(recipe));
  }
  std::string refusal() const {
    return test::error_of([&] { open_policy(run_.path()); });
  }
  test::TemporaryDirectory run_;
};

TEST_F(PolicyRun, is_opened_with_its_weights_and_normalizer) {
  write_config("pusht");
  DiffusionPolicy policy(find_policy("pusht_small"), AttentionSpec::parse("full"));
  models::save_weights(policy, run_ / "ema.safetensors", {{"limits", normalizer().to_json()}});
  const TrainedPolicy opened = open_policy(run_.path());
  EXPECT_EQ(opened.weights, "ema.safetensors");
  EXPECT_FALSE(opened.policy->is_training());
  EXPECT_EQ(opened.normalizer.to_json(), normalizer().to_json());
  const auto want = policy.parameters(), have = opened.policy->parameters();
  ASSERT_EQ(have.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(at::equal(have[i], want[i]));
}

TEST_F(PolicyRun, is_refused_in_one_line) {
  EXPECT_TRUE(mentions(refusal(), "holds no run"));
  write_config("classification");
  EXPECT_TRUE(mentions(refusal(), "learned classification; accepted: a run of the tasks pusht, lift, can"));
  write_config("pusht");
  EXPECT_TRUE(mentions(refusal(), "has no weights yet"));
  DiffusionPolicy other(mini_policy(), AttentionSpec::parse("full"));
  models::save_weights(other, run_ / "ema.safetensors", {{"limits", normalizer().to_json()}});
  EXPECT_TRUE(mentions(refusal(), "the weights do not fit pusht_small"));
  models::save_weights(other, run_ / "ema.safetensors");
  EXPECT_TRUE(mentions(refusal(), "do not tell the limits"));
}

}  // namespace
}  // namespace fib::robots
