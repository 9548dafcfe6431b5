// SPDX-License-Identifier: Apache-2.0
#include "training/torch/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "files.h"

namespace fib::training {
namespace {

using test::error_of;
using test::mentions;
using test::TemporaryDirectory;

Checkpoint sample() {
  torch::manual_seed(3);
  Checkpoint c;
  c.config = "[run]\nseed = 3\n";
  c.run = {.step = 7,
           .evaluated_epochs = 2,
           .window = {1.0 / 3.0, 2},
           .epoch = {0.1 + 0.2, 5},
           .train_seconds = 1.5,
           .best = {"ema", 2, 0.75},
           .log = {123, 456}};
  c.values = torch::randn({1000});
  c.optimizer = {.steps = 7,
                 .memory = {{"mean", torch::randn({900})}, {"square", torch::rand({900})}},
                 .average = torch::randn({1000})};
  return c;
}

TEST(Checkpoint, comes_back_to_the_bit) {
  const TemporaryDirectory directory;
  const Checkpoint saved = sample();
  save_checkpoint(directory / "state.pt", saved);
  const Checkpoint loaded = load_checkpoint(directory / "state.pt");
  EXPECT_EQ(loaded.config, saved.config);
  EXPECT_EQ(to_json(loaded.run), to_json(saved.run));
  EXPECT_EQ(loaded.run.epoch.loss, saved.run.epoch.loss);
  EXPECT_TRUE(loaded.values.equal(saved.values));
  ASSERT_EQ(loaded.optimizer.memory.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(loaded.optimizer.memory[i].first, saved.optimizer.memory[i].first);
    EXPECT_TRUE(loaded.optimizer.memory[i].second.equal(saved.optimizer.memory[i].second));
  }
  EXPECT_TRUE(loaded.optimizer.average.equal(saved.optimizer.average));
  EXPECT_EQ(directory.entries(), 1U);
}

TEST(Checkpoint, may_lack_an_average) {
  const TemporaryDirectory directory;
  Checkpoint saved = sample();
  saved.optimizer.average = at::Tensor();
  save_checkpoint(directory / "state.pt", saved);
  EXPECT_FALSE(load_checkpoint(directory / "state.pt").optimizer.average.defined());
}

TEST(Checkpoint, survives_the_failure_of_the_next_one) {
  const TemporaryDirectory directory;
  const Checkpoint first = sample();
  save_checkpoint(directory / "state.pt", first);
  Checkpoint second = sample();
  second.run.step = 8;
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit small{5000, limit.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const std::string error = error_of([&] { save_checkpoint(directory / "state.pt", second); });
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  EXPECT_TRUE(mentions(error, "cannot write")) << error;
  EXPECT_EQ(load_checkpoint(directory / "state.pt").run.step, 7);
  EXPECT_EQ(directory.entries(), 1U) << "nothing half written is left";
}

TEST(Checkpoint, says_what_is_wrong_with_a_file) {
  const TemporaryDirectory directory;
  EXPECT_TRUE(mentions(error_of([&] { load_checkpoint(directory / "state.pt"); }), "there is no checkpoint"));
  test::write_file(directory / "state.pt", "not an archive");
  EXPECT_TRUE(mentions(error_of([&] { load_checkpoint(directory / "state.pt"); }), "cannot read the checkpoint"));
  save_checkpoint(directory / "state.pt", sample());
  std::string bytes = test::read_file(directory / "state.pt");
  test::write_file(directory / "state.pt", bytes.substr(0, bytes.size() / 2));
  EXPECT_TRUE(mentions(error_of([&] { load_checkpoint(directory / "state.pt"); }), "cannot read the checkpoint"));
}

}  // namespace
}  // namespace fib::training
