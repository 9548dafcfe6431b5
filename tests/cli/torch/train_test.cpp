// SPDX-License-Identifier: Apache-2.0
// fib train from the outside: what it writes, what it refuses, and that nothing that happens to it changes a bit.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "background.h"
#include "cli/run_fib.h"
#include "files.h"
#include "free_port.h"
#include "tiny_mnist.h"

namespace {

using fib::test::free_port;
using fib::test::lines_of;
using fib::test::mentions;
using fib::test::start;
using fib::test::TemporaryDirectory;
using fib::test::wait_for;
using fib::test::wait_for_lines;
using fib::test::wait_for_listener;

/// Twelve steps of 16 images with everything random switched on, a checkpoint after each second one.
const std::string kRecipe = R"(
[model]
model = "vit_nano_patch2_28"
dropout = 0.1
drop_path = 0.1
attention_dropout = 0.1
[data]
validation_fraction = 0.2
workers = 1
[augment]
crop = "padded"
mixup = 0.8
cutmix = 1.0
[optimizer]
batch = 16
[schedule]
epochs = 3
[run]
threads = 1
checkpoint_every = 2
eval_every = 3
log_every = 1
)";

class Train : public testing::Test {
 protected:
  void SetUp() override {
    fib::test::write_tiny_mnist(directory_ / "data");
    fib::test::write_file(directory_ / "recipe.toml", kRecipe);
  }

  std::string path(const std::string& name) const { return directory_ / name; }
  /// The arguments of a run.
  std::string arguments(const std::string& name, const std::string& more = "") const {
    const std::string data = mentions(more, "--data") ? "" : " --data mnist:" + path("data");
    return "train --quiet --recipe " + path("recipe.toml") + data + " --out " + path(name) + " " + more;
  }
  Outcome train(const std::string& name, const std::string& more = "") const { return run_fib(arguments(name, more)); }
  std::string bytes(const std::string& run, const std::string& file) const {
    return fib::test::read_file(directory_.path() / run / file);
  }
  /// Weights, averages and the course of both runs are the same to the bit.
  void expect_same(const std::string& a, const std::string& b) const {
    for (const char* file : {"model.safetensors", "ema.safetensors", "best.safetensors", "metrics.jsonl"}) {
      EXPECT_FALSE(bytes(a, file).empty()) << file;
      EXPECT_TRUE(bytes(a, file) == bytes(b, file)) << file << " differs";
    }
  }

  TemporaryDirectory directory_;
};

TEST_F(Train, leaves_a_run_directory_that_says_everything) {
  const Outcome outcome = train("run", "--json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto summary = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(summary, nlohmann::json::parse(bytes("run", "summary.json")));
  EXPECT_EQ(summary.at("steps"), 12);
  EXPECT_EQ(summary.at("test").at("images"), 30);
  EXPECT_GT(summary.at("images_per_second").get<double>(), 0);
  EXPECT_GT(summary.at("attention_ms").get<double>(), 0);
  EXPECT_TRUE(mentions(bytes("run", "config.toml"), "model = \"vit_nano_patch2_28\""));
  EXPECT_EQ(lines_of(path("run/metrics.jsonl")), 12U + 3 + 2 + 1) << "steps, epochs, two validations, one test";
  EXPECT_FALSE(bytes("run", "events.out.tfevents.fib").empty());

  // Its own config.toml makes the same run again.
  const Outcome again = run_fib("train --quiet --recipe " + path("run/config.toml") + " --out " + path("again"));
  ASSERT_EQ(again.code, 0) << again.err;
  expect_same("run", "again");
}

TEST_F(Train, ends_with_the_same_bits_however_often_it_is_killed) {
  ASSERT_EQ(train("whole").code, 0);
  for (const size_t lines : {1U, 5U, 9U}) {
    const std::string resume = lines == 1 ? "" : "--resume";
    const pid_t child = start(arguments("killed", resume));
    wait_for_lines(path("killed/metrics.jsonl"), lines);
    ::kill(child, SIGKILL);
    wait_for(child);
  }
  const Outcome outcome = train("killed", "--resume");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  expect_same("whole", "killed");
}

TEST_F(Train, stops_politely_and_says_how_to_go_on) {
  const pid_t child = start(arguments("run"));
  wait_for_lines(path("run/metrics.jsonl"), 1);
  ::kill(child, SIGINT);
  EXPECT_EQ(wait_for(child), 130);
  ASSERT_EQ(train("run", "--resume").code, 0);
  ASSERT_EQ(train("whole").code, 0);
  expect_same("whole", "run");
}

TEST_F(Train, refuses_what_would_damage_a_run) {
  ASSERT_EQ(train("run").code, 0);
  EXPECT_TRUE(mentions(train("run").err, "already holds a run: add --resume"));
  const Outcome other = train("run", "--resume --attention full --lr 0.5");
  EXPECT_EQ(other.code, 2);
  EXPECT_TRUE(mentions(other.err, "attention = \"full\" (the run has \"fibottention\")"));
  EXPECT_TRUE(mentions(other.err, "lr = 0.5"));
  EXPECT_TRUE(mentions(train("nothing", "--resume").err, "holds no run to resume"));
  const int lock = ::open(path("run/.lock").c_str(), O_RDWR);
  ::flock(lock, LOCK_EX);
  EXPECT_TRUE(mentions(train("run", "--resume").err, "in use by another process"));
  ::close(lock);
}

std::string contents(const fib::test::TemporaryDirectory& directory, const std::string& run) {
  std::string all;
  for (const auto& entry : std::filesystem::directory_iterator(directory / run))
    all += entry.path().filename().string() + fib::test::read_file(entry.path());
  return all;
}

TEST_F(Train, leaves_a_finished_run_alone_and_says_so) {
  ASSERT_EQ(train("run").code, 0);
  const std::string before = contents(directory_, "run");
  const Outcome again = run_fib("train --out " + path("run") + " --resume");
  EXPECT_EQ(again.code, 0);
  EXPECT_TRUE(mentions(again.err, "is finished: nothing was changed")) << again.err;
  EXPECT_TRUE(contents(directory_, "run") == before);
}

TEST_F(Train, never_begins_again_over_the_weights_of_a_run) {
  const pid_t child = start(arguments("run"));
  wait_for_lines(path("run/metrics.jsonl"), 5);
  ::kill(child, SIGTERM);
  EXPECT_EQ(wait_for(child), 143);
  std::filesystem::remove(path("run/state.pt"));
  const Outcome again = train("run", "--resume");
  EXPECT_EQ(again.code, 1);
  EXPECT_TRUE(mentions(again.err, "its state.pt is missing")) << again.err;
}

TEST_F(Train, is_not_judged_by_other_weights_than_asked_for) {
  ASSERT_EQ(train("run").code, 0);
  std::filesystem::remove(path("run/best.safetensors"));
  const Outcome eval = run_fib("eval --run " + path("run") + " --checkpoint best");
  EXPECT_EQ(eval.code, 1);
  EXPECT_TRUE(mentions(eval.err, "has no best.safetensors; --checkpoint accepts what it has: ema, model")) << eval.err;
}

TEST_F(Train, can_be_judged_by_a_part_of_the_images_and_trains_one_epoch_with_the_default_warmup) {
  const Outcome outcome = train("run", "--json --eval-images 7 --epochs 1 --eval-every 1");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto summary = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(summary.at("test").at("images"), 7);
  EXPECT_EQ(summary.at("validation").at("images"), 7);
}

/// The rest of the processes never comes, and is waited for an hour: only the signal ends it.
TEST_F(Train, answers_a_signal_while_it_waits_for_other_processes) {
  const int port = free_port();
  const pid_t child =
      start(arguments("run", "--peer-timeout 3600"),
            "WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 RANK=0 MASTER_PORT=" + std::to_string(port));
  wait_for_listener(port);
  ::kill(child, SIGTERM);
  EXPECT_EQ(wait_for(child), 143);
}

TEST_F(Train, says_in_one_line_what_is_wrong) {
  const Outcome key = train("run", "--weight-dekay 1");
  EXPECT_EQ(key.code, 2);
  EXPECT_TRUE(mentions(key.err, "--weight-decay"));
  EXPECT_TRUE(mentions(train("run", "--data nothing").err, "nothing"));
  EXPECT_TRUE(mentions(train("run", "--model nothing").err, "unknown model"));
  EXPECT_TRUE(mentions(train("run", "--batch 0").err, "an integer from 1"));
  EXPECT_TRUE(mentions(train("run", "--workers 40000").err, "workers"));
  EXPECT_TRUE(mentions(train("run", "--attention full:path=anything").err, "path must be tiles or products"));
  EXPECT_FALSE(std::filesystem::exists(path("run"))) << "what was refused leaves nothing behind";
  EXPECT_TRUE(mentions(train("recipe.toml").err, "cannot make the run directory"));
}

TEST_F(Train, stops_at_a_loss_that_is_not_finite) {
  const Outcome outcome = train("run", "--lr 1e30 --warmup-epochs 0 --grad-clip 0");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(mentions(outcome.err, "is not finite at step")) << outcome.err;
  EXPECT_TRUE(mentions(outcome.err, "last good checkpoint is step")) << outcome.err;
}

TEST_F(Train, says_where_plain_folders_and_weights_lead) {
  EXPECT_TRUE(mentions(train("run", "--data " + path("data")).err, "did you mean 'folder:" + path("data") + "'?"));
  EXPECT_TRUE(mentions(run_fib("train --recipe " + path("recipe.toml")).err, "Give --out DIR"));
  EXPECT_TRUE(mentions(train("run", "--freeze all").err, "freeze keeps values of weights: give --weights"));
  EXPECT_TRUE(mentions(train("run", "--plot lr.svg").err, "--find-lr"));
}

TEST_F(Train, continues_from_weights_as_they_were_trained) {
  ASSERT_EQ(train("first", "--attention local:w=2 --pool mean").code, 0);
  fib::test::write_file(path("short.toml"), "[optimizer]\nbatch = 16\n[schedule]\nepochs = 1\n[run]\nthreads = 1\n");
  const Outcome outcome = run_fib("train --recipe " + path("short.toml") + " --data mnist:" + path("data") +
                                  " --weights " + path("first/model.safetensors") + " --out " + path("second"));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* line : {"vit_nano_patch2_28 with local:w=2", "44 of 44 tensors taken",
                           "classifier: 10 classes, from the weights", "attention: local:w=2, as in the weights"})
    EXPECT_TRUE(mentions(outcome.err, line));
  EXPECT_TRUE(mentions(bytes("second", "config.toml"), "pool = \"mean\""));
}

TEST_F(Train, searches_a_learning_rate_and_leaves_only_a_plot) {
  const std::string plot = path("lr.svg");
  const Outcome outcome = run_fib("train --find-lr --json --recipe " + path("recipe.toml") +
                                  " --data mnist:" + path("data") + " --plot " + plot);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto found = nlohmann::json::parse(outcome.out);
  EXPECT_GT(found.at("lr").get<double>(), 1e-7);
  EXPECT_GE(found.at("largest").get<double>(), found.at("lr").get<double>());
  EXPECT_TRUE(mentions(fib::test::read_file(plot), "learning rate"));
}

/// The two processes of one run.
std::vector<pid_t> start_two(const std::string& arguments) {
  const std::string place =
      "WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(free_port());
  return {start(arguments, place + " RANK=0"), start(arguments, place + " RANK=1")};
}

std::vector<double> losses(const std::string& metrics) {
  std::vector<double> found;
  std::ifstream in(metrics);
  for (std::string line; std::getline(in, line);) {
    const auto json = nlohmann::json::parse(line);
    if (json.contains("lr")) found.push_back(json.at("loss"));
  }
  return found;
}

const std::string kPlain = "--dropout 0 --drop-path 0 --attention-dropout 0 --mixup 0 --cutmix 0 ";

TEST_F(Train, follows_one_process_with_two) {
  ASSERT_EQ(train("one", kPlain).code, 0);
  for (const pid_t child : start_two(arguments("two", kPlain))) EXPECT_EQ(wait_for(child), 0);
  const auto one = losses(path("one/metrics.jsonl")), two = losses(path("two/metrics.jsonl"));
  ASSERT_EQ(one.size(), 12U);
  ASSERT_EQ(two.size(), 12U);
  // The same sums in another order: float32 rounding, amplified by AdamW over twelve steps.
  for (size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], two[i], 1e-4) << "step " << i + 1;
}

TEST_F(Train, ends_all_processes_when_one_is_lost_and_resumes_to_the_bit) {
  for (const pid_t child : start_two(arguments("whole"))) ASSERT_EQ(wait_for(child), 0);
  const auto children = start_two(arguments("lost"));
  wait_for_lines(path("lost/metrics.jsonl"), 3);
  ::kill(children[1], SIGKILL);
  wait_for(children[1]);
  EXPECT_EQ(wait_for(children[0]), 1);
  for (const pid_t child : start_two(arguments("lost", "--resume"))) ASSERT_EQ(wait_for(child), 0);
  expect_same("whole", "lost");
}

}  // namespace
