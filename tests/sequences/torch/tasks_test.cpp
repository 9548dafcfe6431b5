// SPDX-License-Identifier: Apache-2.0
#include "sequences/torch/tasks.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "files.h"
#include "sequences/torch/series_task.h"
#include "sequences/torch/text_task.h"
#include "sequences/torch/trained_text.h"
#include "training/recipe/options.h"
#include "training/torch/trainer.h"

namespace fib::sequences {
namespace {

using namespace training;
using test::error_of;
using test::mentions;
using test::TemporaryDirectory;

std::string babble(size_t letters) {
  CounterRng rng(11);
  std::string text;
  for (size_t i = 0; i < letters; ++i) text += static_cast<char>('a' + (i * i + rng.below(3)) % 7);
  return text;
}

std::string waves(int64_t rows) {
  std::string text = "x,y\n";
  for (int64_t r = 0; r < rows; ++r)
    text += std::to_string(std::sin(0.3 * static_cast<double>(r))) + "," + std::to_string(r % 7) + "\n";
  return text;
}

Recipe small_recipe(const std::string& task) {
  Recipe recipe;
  recipe.model.name = "mini_decoder";
  recipe.model.attention = "fibottention:local=1";
  recipe.model.dropout = 0.1;
  recipe.run.task = task;
  recipe.run.threads = 1;
  recipe.run.log_every = 1;
  recipe.optimizer.batch = 4;
  recipe.schedule.epochs = 2;
  recipe.schedule.warmup_epochs = 0;
  return recipe;
}

/// A recipe and the file it learns from.
class Sequences : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    test::write_file(directory_ / "t.txt", babble(900));
    test::write_file(directory_ / "s.csv", waves(90));
  }
  Recipe recipe() const {
    Recipe recipe = small_recipe(GetParam());
    const bool text = recipe.run.task == "text";
    recipe.data.source = text
                             ? "text:" + (directory_ / "t.txt").string() + "?symbols=characters&test=0.2&epoch_steps=4"
                             : "series:" + (directory_ / "s.csv").string() + "?look_back=24&horizon=4&patch=4&stride=2";
    return recipe;
  }
  Experiment experiment(const RankInfo& rank = {}) const { return prepare(recipe(), rank, sequence_tasks()); }

  void train(const std::filesystem::path& folder, int64_t stop_after, bool resumes) const {
    struct Stops : Observer {
      int64_t left;
      CancelSource cancel{};
      explicit Stops(int64_t steps) : left(steps) {}
      void stepped(const StepFacts&) override {
        if (--left == 0) cancel.request();
      }
    } observer(stop_after);
    ProcessGroup alone;
    const RunDirectory run(folder);
    test::write_file(run.files().config(), write_toml(recipe()));
    Trainer trainer(experiment(), alone, &run, observer, observer.cancel.token());
    if (resumes) trainer.resume();
    EXPECT_EQ(trainer.run(), stop_after > 0 ? Trainer::Outcome::stopped : Trainer::Outcome::finished);
  }

  TemporaryDirectory directory_;
};

TEST_P(Sequences, resume_to_the_bit) {
  const TemporaryDirectory whole, stopped;
  train(whole.path(), 0, false);
  train(stopped.path(), 3, false);
  train(stopped.path(), 0, true);
  for (const char* file : {"model.safetensors", "ema.safetensors", "best.safetensors", "metrics.jsonl"})
    EXPECT_TRUE(test::read_file(whole / file) == test::read_file(stopped / file)) << file;
}

/// Two processes see together what one sees.
TEST_P(Sequences, batches_are_divided_among_processes) {
  const auto batch = [&](const RankInfo& rank) {
    const Experiment e = experiment(rank);
    const auto stream = e.task->epoch(1, 2);
    return stream->next()->tensors[0].clone();
  };
  const at::Tensor whole = batch({0, 1}), first = batch({0, 2}), second = batch({1, 2});
  ASSERT_EQ(first.size(0), 2);
  const at::Tensor parts = at::cat({first, second});
  for (int64_t i = 0; i < 4; ++i) {
    int64_t found = 0;
    for (int64_t j = 0; j < 4; ++j) found += whole[i].equal(parts[j]) ? 1 : 0;
    EXPECT_GE(found, 1) << i;
  }
}

TEST_P(Sequences, an_epoch_can_begin_anywhere) {
  const Experiment e = experiment();
  const auto all = e.task->epoch(0, 0), later = e.task->epoch(0, 1);
  all->next();
  EXPECT_TRUE(all->next()->tensors[1].equal(later->next()->tensors[1]));
}

INSTANTIATE_TEST_SUITE_P(Tasks, Sequences, testing::Values("text", "series"),
                         [](const auto& task) { return std::string(task.param); });

class TextRun : public Sequences {};
INSTANTIATE_TEST_SUITE_P(Tasks, TextRun, testing::Values("text"));

/// Window by window and symbol by symbol, with the softmax written out.
TEST_P(TextRun, loss_of_an_evaluation_is_that_of_a_slow_one) {
  const Experiment e = experiment();
  const Text text = read_text(directory_ / "t.txt", {.symbols = Symbols::characters,
                                                     .test_share = 0.2,
                                                     .validation_share = recipe().data.validation_fraction,
                                                     .context = 16});
  ProcessGroup alone;
  const Evaluation evaluated = e.task->evaluate(Split::test, alone, {});
  auto* network = dynamic_cast<TextDecoder*>(&e.task->network());
  ASSERT_NE(network, nullptr);
  const EvalMode eval(*network);
  double sum = 0;
  int64_t count = 0;
  for (int64_t begin = text.test.begin; begin + 17 <= text.test.end; begin += 16) {
    for (int64_t t = 0; t < 16; ++t, ++count) {
      const std::vector<int32_t> seen(text.symbols.begin() + begin, text.symbols.begin() + begin + t + 1);
      const at::Tensor tokens = at::tensor(at::ArrayRef<int32_t>(seen), at::kInt).to(at::kLong).unsqueeze(0);
      const at::Tensor logits = network->forward(tokens)[0][t].to(at::kDouble);
      const int64_t next = text.symbols[static_cast<size_t>(begin + t + 1)];
      sum += (logits.exp().sum().log() - logits[next]).item<double>();
    }
  }
  EXPECT_NEAR(evaluated.value("loss"), sum / static_cast<double>(count), 1e-5);
  EXPECT_NEAR(evaluated.value("bits_per_byte"), evaluated.value("loss") / std::log(2.0), 1e-9);
  EXPECT_NEAR(evaluated.value("perplexity"), std::exp(evaluated.value("loss")), 1e-9);
}

TEST_P(TextRun, writes_the_same_again_and_beyond_its_places) {
  const TemporaryDirectory run;
  train(run.path(), 0, false);
  const TrainedText text = open_text(run.path());
  const auto write = [&] {
    CachedDecoder model(*text.model);
    Writer writer(model, {.temperature = 1}, 4);
    writer.read(text.vocabulary.encode("abcabcabcabcabcabcabcabcabc"));
    std::vector<int32_t> symbols;
    for (int i = 0; i < 50; ++i) symbols.push_back(writer.next());
    return symbols;
  };
  EXPECT_EQ(write(), write());
  EXPECT_TRUE(mentions(error_of([&] { open_series(run.path()); }), "learned text; accepted: a run of the task series"));
}

class SeriesRun : public Sequences {};
INSTANTIATE_TEST_SUITE_P(Tasks, SeriesRun, testing::Values("series"));

/// The errors of a forecast are those of the task's evaluation, which sees the same windows.
TEST_P(SeriesRun, forecasts_as_it_was_evaluated) {
  const TemporaryDirectory run;
  train(run.path(), 0, false);
  const TrainedSeries trained = open_series(run.path());
  const Series series = read_series(directory_ / "s.csv");
  const SeriesOptions options = series_options(trained.recipe);
  const SeriesWindows windows = windows_of(divided(series, options).test, options);
  double square = 0, absolute = 0;
  for (int64_t i = 0; i < windows.count; ++i) {
    const Forecast f = forecast(trained, series, windows.first + i);
    square += f.errors->square / static_cast<double>(windows.count);
    absolute += f.errors->absolute / static_cast<double>(windows.count);
  }
  const Summary summary = read_summary(RunFiles{run.path()});
  EXPECT_NEAR(summary.test.evaluation.value("mse"), square, 1e-5);
  EXPECT_NEAR(summary.test.evaluation.value("mae"), absolute, 1e-5);

  const Forecast ahead = forecast(trained, series, series.rows());
  EXPECT_FALSE(ahead.errors.has_value());
  EXPECT_EQ(ahead.values.size(), 8U);
  EXPECT_TRUE(mentions(error_of([&] { forecast(trained, series, 23); }), "23 rows come before the forecast"));
  EXPECT_TRUE(mentions(error_of([&] { forecast(trained, parse_series("x,z\n1,2\n", "f"), 1); }),
                       "the columns are x, z, the run learned x, y"));
}

TEST(Decoders, refuse_what_they_do_not_have) {
  Recipe recipe = small_recipe("text");
  recipe.data.source = "text:nowhere.txt";
  recipe.model.attention_dropout = 0.1;
  EXPECT_TRUE(mentions(error_of([&] { prepare(recipe, {}, {text_task()}); }), "no attention_dropout"));
  recipe.model.attention_dropout = 0;
  recipe.model.attention = "linformer";
  EXPECT_TRUE(mentions(error_of([&] { prepare(recipe, {}, {text_task()}); }), "attention linformer cannot be causal"));
}

}  // namespace
}  // namespace fib::sequences
