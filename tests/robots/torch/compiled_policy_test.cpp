// SPDX-License-Identifier: Apache-2.0
// Compiled policies against LibTorch's, with the same noise.
#include "robots/play/compiled_policy.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/lower.h"
#include "files.h"
#include "robots/torch/mini_policy.h"
#include "robots/torch/rollout.h"

namespace fib::robots {
namespace {

RobotNormalizer limits(const RobotTask& task) {
  RobotNormalizer n;
  for (const Observation& o : task.observations)
    if (!o.is_image()) n.observed[o.name] = Normalizer::from({0.004, 0.005}, {-1.1, -0.9}, 2);
  n.action = Normalizer::from({0.00395, 0.0041}, {-1, -1.05}, 2);
  return n;
}

TrainedPolicy untrained(const Policy& row, const std::string& attention) {
  torch::manual_seed(3);
  TrainedPolicy trained{.recipe = {}, .weights = "", .policy = nullptr, .normalizer = limits(row.task)};
  trained.recipe.run.task = "pusht", trained.recipe.model.name = row.name;
  trained.policy = std::make_shared<DiffusionPolicy>(row, AttentionSpec::parse(attention));
  trained.policy->eval();
  return trained;
}

std::filesystem::path compiled(const TrainedPolicy& trained, const std::string& sampler,
                               const test::TemporaryDirectory& folder) {
  const Policy& row = trained.policy->row();
  engine::TensorStore tensors;
  engine::FibContent content;
  content.card = {{"model", row.name}, {"attention", "full"}};
  interface_of(row, "pusht", sampler).add_to(content.card);
  content.programs.push_back(engine::lower(record_policy(trained, sampler), engine::Precision::f32, tensors));
  engine::write_fib(folder / "policy.fib", content, tensors.views());
  return folder / "policy.fib";
}

/// What a player has decided, one decision after the other.
class Notes final : public Player {
 public:
  explicit Notes(Player& player) : player_(player) {}
  const Policy& row() const override { return player_.row(); }
  std::vector<std::vector<double>> decide(const std::vector<Seen>& seen,
                                          const std::vector<CounterRng*>& streams) override {
    all.push_back(player_.decide(seen, streams));
    return all.back();
  }
  std::vector<std::vector<std::vector<double>>> all;

 private:
  Player& player_;
};

/// On [-1, 1].
double difference(const Notes& a, const Notes& b, const Normalizer& action) {
  double most = a.all.size() == b.all.size() ? 0 : 1e9;
  for (size_t d = 0; d < std::min(a.all.size(), b.all.size()); ++d) {
    for (size_t r = 0; r < a.all[d].size(); ++r)
      for (size_t i = 0; i < a.all[d][r].size(); ++i)
        most = std::max(most, action.scale()[i % 2] * std::abs(a.all[d][r][i] - b.all[d].at(r).at(i)));
  }
  return most;
}

TEST(CompiledPolicy, plays_as_libtorch_s) {
  const test::TemporaryDirectory folder;
  const TrainedPolicy trained = untrained(find_policy("pusht_small"), "fibottention-modified:wmin=N,wmax=N");
  CompiledPolicy compiled_one(compiled(trained, "ddim:10", folder));
  TorchPlayer torch_one(*trained.policy, trained.normalizer, "ddim:10");
  Notes ours(compiled_one), theirs(torch_one);
  Robot robot = find_robot("pusht");
  robot.max_steps = 40;
  const Rollout a = play(ours, robot, {.seeds = {kTestSeed, kTestSeed + 1}});
  const Rollout b = play(theirs, robot, {.seeds = {kTestSeed, kTestSeed + 1}});
  EXPECT_EQ(a.decisions, 5);
  EXPECT_EQ(a.steps(), b.steps());
  EXPECT_LT(difference(ours, theirs, trained.normalizer.action), 1e-4);
  EXPECT_EQ(compiled_one.sampler(), "ddim:10");
}

/// The graph alone, for policies that have no row: with fresh noise at each of a hundred steps, and a ResNet.
double graph_difference(const Policy& row, const std::string& sampler) {
  const TrainedPolicy trained = untrained(row, "full");
  engine::TensorStore tensors;
  engine::FibContent content;
  content.programs.push_back(engine::lower(record_policy(trained, sampler), engine::Precision::f32, tensors));
  const test::TemporaryDirectory folder;
  engine::write_fib(folder / "graph.fib", content, tensors.views());
  engine::Engine engine(folder / "graph.fib");

  Seen seen(static_cast<size_t>(row.task.observed));
  const auto side = static_cast<size_t>(row.image().image_size);
  for (size_t t = 0; t < seen.size(); ++t) {
    std::vector<uint8_t> image(side * side * 3);
    for (size_t i = 0; i < image.size(); ++i) image[i] = static_cast<uint8_t>((i * 37 + t * 11) % 251);
    seen[t] = {{{100.0 + 50 * static_cast<double>(t), 300}, {}}, {{}, image}};
  }
  CounterRng stream = engine::action_noise(9), again = stream;
  TorchPlayer torch_one(*trained.policy, trained.normalizer, sampler);
  const std::vector<double> wanted = torch_one.decide({seen}, {&stream}).front();

  const engine::PolicyInterface takes = interface_of(row, "pusht", sampler);
  std::vector<float> sample;
  for (const auto& moment : seen) sample.insert(sample.end(), moment[0].numbers.begin(), moment[0].numbers.end());
  for (const auto& moment : seen) {
    std::vector<uint8_t> planes(moment[1].image.size());
    reduce_image(moment[1].image, row.image().image_size, planes.data());
    sample.insert(sample.end(), planes.begin(), planes.end());
  }
  sample.resize(sample.size() + static_cast<size_t>(takes.noise_values()));
  engine::draw_noise(again, std::span(sample).last(static_cast<size_t>(takes.noise_values())));
  std::vector<float> actions(static_cast<size_t>(takes.action_values()));
  engine.run(engine.content().programs[0], sample, actions);
  EXPECT_EQ(again.next_u64(), stream.next_u64());  // as many draws
  double most = 0;
  for (size_t i = 0; i < actions.size(); ++i)
    most = std::max(most, trained.normalizer.action.scale()[i % 2] * std::abs(actions[i] - wanted[i]));
  return most;
}

TEST(CompiledPolicy, draws_fresh_noise_as_ddpm_does) { EXPECT_LT(graph_difference(mini_policy(), "ddpm"), 1e-4); }

TEST(CompiledPolicy, sees_through_a_resnet) {
  Policy row = mini_policy();
  row.encoder = EncoderSize{};
  EXPECT_LT(graph_difference(row, "ddim:3"), 1e-4);
}

TEST(CompiledPolicy, is_refused_in_one_line) {
  const test::TemporaryDirectory folder;
  const TrainedPolicy trained = untrained(mini_policy(), "full");
  EXPECT_TRUE(test::mentions(test::error_of([&] { CompiledPolicy{compiled(trained, "ddim:2", folder)}; }), "mini"));
  EXPECT_TRUE(test::mentions(test::error_of([&] { CompiledPolicy{folder / "missing.fib"}; }), "missing.fib"));
}

}  // namespace
}  // namespace fib::robots
