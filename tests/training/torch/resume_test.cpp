// SPDX-License-Identifier: Apache-2.0
// Runs that are stopped anywhere and go on from their files.
#include <gtest/gtest.h>

#include "files.h"
#include "training/torch/noise_experiment.h"

namespace fib::training {
namespace {

using test::mentions;
using test::TemporaryDirectory;

TEST(Trainer, ends_with_the_same_bits_wherever_it_was_stopped) {
  const TemporaryDirectory whole;
  train_with_stops(whole.path(), {});
  // Eight steps in two epochs: at the first, within an epoch, at its last step, several times, just before the end.
  for (const std::vector<int64_t>& stops : std::vector<std::vector<int64_t>>{{1}, {3}, {4}, {2, 3, 1}, {7}}) {
    const TemporaryDirectory stopped;
    train_with_stops(stopped.path(), stops);
    for (const char* file : {"model.safetensors", "ema.safetensors", "best.safetensors", "metrics.jsonl"})
      EXPECT_TRUE(test::read_file(whole / file) == test::read_file(stopped / file))
          << file << ", first stop " << stops[0];
  }
}

/// Every optimizer, schedule, average and rule of decay that is not the default.
TEST(Trainer, resumes_to_the_bit_with_every_choice_of_the_recipe) {
  std::vector<Recipe> recipes(4, random_recipe());
  recipes[0].optimizer.name = "sgd";
  recipes[0].optimizer.weight_decay_on = "all";
  recipes[1].schedule.name = "milestones";
  recipes[1].schedule.milestones = {0.5, 1};
  recipes[2].ema.rule = "power";
  recipes[3].ema.rule = "constant";
  recipes[3].schedule.name = "epoch";
  for (const Recipe& recipe : recipes) {
    const TemporaryDirectory whole, stopped, plain;
    train_with_stops(whole.path(), {}, recipe);
    train_with_stops(stopped.path(), {3}, recipe);
    train_with_stops(plain.path(), {});
    for (const char* file : {"model.safetensors", "ema.safetensors", "metrics.jsonl"})
      EXPECT_TRUE(test::read_file(whole / file) == test::read_file(stopped / file)) << file;
    EXPECT_FALSE(test::read_file(whole / "ema.safetensors") == test::read_file(plain / "ema.safetensors"))
        << "the choice makes a difference";
  }
}

/// Asks to stop at the n-th batch of all evaluations.
class StopsWhileEvaluating : public Recorder {
 public:
  explicit StopsWhileEvaluating(int64_t batches) : left_(batches) {}
  void evaluating(const std::string& split, int64_t, int64_t) override {
    if (--left_ > 0) return;
    if (left_ == 0) where = split;
    cancel.request();
  }

  std::string where;

 private:
  int64_t left_;
};

/// Batches of 8: two of validation for each of two weights in two epochs, then two of the test.
TEST(Trainer, stops_within_an_evaluation_and_ends_with_the_same_bits) {
  const TemporaryDirectory whole;
  train_with_stops(whole.path(), {});
  for (const int64_t batches : {1, 3, 6, 9, 10}) {
    const TemporaryDirectory stopped;
    ProcessGroup alone;
    {
      StopsWhileEvaluating observer(batches);
      const RunDirectory run(stopped.path());
      Trainer trainer(experiment_of(random_recipe()), alone, &run, observer, observer.cancel.token());
      EXPECT_EQ(trainer.run(), Trainer::Outcome::stopped);
      EXPECT_EQ(observer.where, batches < 9 ? "validation" : "test");
      EXPECT_FALSE(std::filesystem::exists(run.files().summary()));
    }
    Recorder recorder;
    const RunDirectory run(stopped.path());
    Trainer trainer(experiment_of(random_recipe()), alone, &run, recorder);
    trainer.resume();
    EXPECT_EQ(trainer.run(), Trainer::Outcome::finished);
    for (const char* file : {"model.safetensors", "ema.safetensors", "best.safetensors", "metrics.jsonl"})
      EXPECT_TRUE(test::read_file(whole / file) == test::read_file(stopped / file)) << file << " " << batches;
  }
}

/// Asks to stop once the first epoch has only its evaluation left.
class StopsBeforeEvaluating : public Recorder {
 public:
  void stepped(const StepFacts& facts) override {
    Recorder::stepped(facts);
    if (facts.step == facts.steps / facts.epochs) cancel.request();
  }
  void evaluating(const std::string&, int64_t, int64_t) override { ++batches; }

  int batches = 0;
};

/// One of a large model takes longer than anyone waits.
TEST(Trainer, does_not_finish_a_batch_of_an_evaluation_that_it_stops) {
  const TemporaryDirectory directory;
  ProcessGroup alone;
  StopsBeforeEvaluating observer;
  const RunDirectory run(directory.path());
  Trainer trainer(experiment_of(random_recipe()), alone, &run, observer, observer.cancel.token());
  EXPECT_EQ(trainer.run(), Trainer::Outcome::stopped);
  EXPECT_EQ(observer.batches, 0);
  EXPECT_TRUE(observer.evaluations.empty());
}

TEST(Trainer, refuses_a_checkpoint_of_another_recipe) {
  const TemporaryDirectory directory;
  train_with_stops(directory.path(), {});
  Recipe other = random_recipe();
  other.optimizer.weight_decay = 0.5;
  ProcessGroup alone;
  Recorder recorder;
  const RunDirectory run(directory.path());
  Trainer trainer(experiment_of(other), alone, &run, recorder);
  EXPECT_TRUE(mentions(test::error_of([&] { trainer.resume(); }), "weight_decay"));
}

}  // namespace
}  // namespace fib::training
