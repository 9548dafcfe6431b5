// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/resource.h>

#include <nlohmann/json.hpp>

#include "base/measure.h"
#include "kernels/machine.h"
#include "training/torch/trainer.h"

namespace fib::training {
namespace {

double peak_memory_mb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / kMegabyte;
}

Split split_of(const EvaluationFacts& facts) { return facts.split == "test" ? Split::test : Split::validation; }

}  // namespace

bool Trainer::evaluation_due(int64_t epoch) const {
  const bool due = epoch % recipe().run.eval_every == 0 || epoch == recipe().schedule.epochs;
  return due && experiment_.task->facts().validation > 0;
}

int64_t Trainer::evaluation_samples() {
  const TaskFacts task = experiment_.task->facts();
  const int64_t kinds = step_.optimizer().averages() && !task.judges_averages_only ? 2 : 1;
  int64_t sum = task.test;
  for (int64_t epoch = state_.evaluated_epochs + 1; epoch <= recipe().schedule.epochs; ++epoch)
    if (evaluation_due(epoch)) sum += kinds * task.validation;
  return sum;
}

/// Cancelled, it leaves the run as it was before, so that a resumed one closes the epoch as if nothing had happened.
void Trainer::close_epoch() {
  RunState before = state_;
  if (log_) before.log = log_->sync();
  try {
    const int64_t epoch = state_.step / steps_per_epoch_;
    if (log_) log_->add("epoch", {{"step", state_.step}, {"epoch", epoch}, {"train_loss", state_.epoch.mean()}});
    state_.epoch = {};
    if (evaluation_due(epoch)) evaluate_epoch(epoch);
    state_.evaluated_epochs = epoch;
  } catch (const Cancelled&) {
    save(before);
    throw;
  } catch (const LostRank&) {
    save(before);
    throw;
  }
  save();
}

void Trainer::evaluate_epoch(int64_t epoch) {
  const TaskFacts task = experiment_.task->facts();
  const bool averages = step_.optimizer().averages();
  for (const bool averaged : {false, true}) {
    if (averaged ? !averages : averages && task.judges_averages_only) continue;
    EvaluationFacts facts{.split = "validation", .weights = averaged ? "ema" : "model", .epoch = epoch};
    facts.result = evaluate_weights(split_of(facts), averaged);
    // Weights change their meaning with what takes part in the steps, so only the last ones count then.
    facts.best = !experiment_.hook && (state_.best.weights.empty() ||
                                       task.score.better(facts.result.value(task.score.name), state_.best.score));
    if (facts.best) choose(facts);
    report(facts);
  }
}

Evaluation Trainer::evaluate_weights(Split split, bool averaged) {
  const std::string name = split == Split::test ? "test" : "validation";
  const EvaluationHooks hooks{.progress = [&](int64_t done, int64_t total) { observer_.evaluating(name, done, total); },
                              .cancel = cancel_};
  const ValuesInPlace values(step_.parameters(), averaged ? &step_.optimizer().average() : nullptr);
  return experiment_.task->evaluate(split, group_, hooks);
}

void Trainer::report(const EvaluationFacts& facts) {
  nlohmann::ordered_json line = {
      {"step", state_.step}, {"epoch", facts.epoch}, {"split", facts.split}, {"weights", facts.weights}};
  for (const Metric& metric : facts.result.metrics) line[metric.name] = metric.value;
  if (log_) log_->add(facts.split + "/" + facts.weights, line);
  observer_.evaluated(facts);
}

void Trainer::choose(const EvaluationFacts& facts) {
  const std::string& score = experiment_.task->facts().score.name;
  state_.best = {.weights = facts.weights, .epoch = facts.epoch, .score = facts.result.value(score)};
  export_best(facts);
}

/// The test set is seen once, by the weights that the validation set chose; without one by the averaged weights where
/// they are kept.
EvaluationFacts Trainer::test() {
  const bool averages = step_.optimizer().averages();
  EvaluationFacts facts{.split = "test", .weights = averages ? "ema" : "model", .epoch = recipe().schedule.epochs};
  if (state_.best.weights.empty()) {
    facts.result = evaluate_weights(Split::test, averages);
    return facts;
  }
  facts.weights = state_.best.weights;
  facts.epoch = state_.best.epoch;
  at::Tensor chosen = step_.parameters().values().clone();
  const ValuesInPlace values(step_.parameters(), &chosen);
  if (directory_ != nullptr) load_best();
  group_.broadcast(step_.parameters().values());
  facts.result = evaluate_weights(Split::test, false);
  return facts;
}

void Trainer::finish() {
  if (state_.step < total_steps())
    observer_.noted(fmt::format("the run ends here: no better evaluation after epoch {} (early_stop {})",
                                state_.best.epoch, recipe().schedule.early_stop));
  const EvaluationFacts tested = test();
  report(tested);
  if (log_) log_->sync();
  if (directory_ != nullptr) write_summary(directory_->files(), summary(tested));
}

Summary Trainer::summary(const EvaluationFacts& tested) {
  const RunFacts run = facts();
  Summary s{.task = recipe().run.task,
            .samples = run.samples,
            .evaluation_unit = run.evaluation_unit,
            .score = experiment_.task->facts().score,
            .model = run.model,
            .attention = run.attention,
            .data = run.data,
            .seed = recipe().run.seed,
            .parameters = run.parameters,
            .train_samples = run.train_samples,
            .epochs = state_.step / steps_per_epoch_,
            .steps = state_.step,
            .batch = recipe().optimizer.batch,
            .processes = run.world,
            .threads = at::get_num_threads(),
            .machine = machine_name(),
            .test = {.evaluation = tested.result, .weights = tested.weights, .epoch = tested.epoch},
            .train_seconds = state_.train_seconds,
            .peak_memory_mb = peak_memory_mb()};
  if (!state_.best.weights.empty())
    s.validation = {.evaluation = {.samples = run.validation_samples, .metrics = {{s.score.name, state_.best.score}}},
                    .weights = state_.best.weights,
                    .epoch = state_.best.epoch};
  add_speed(s);
  return s;
}

/// A resumed run that had nothing left to do has no speed to tell.
void Trainer::add_speed(Summary& s) {
  const int64_t parts = group_.world() * recipe().optimizer.accumulate;
  const std::optional<AttentionFacts> attention = experiment_.task->attention(recipe().optimizer.batch / parts);
  if (attention)
    s.attention_cost = {.pruning_ratio = attention->pruning_ratio,
                        .pruning_ratio_with_cls = attention->pruning_ratio_with_cls};
  if (session_steps_ == 0) return;
  const double step_seconds = session_seconds_ / static_cast<double>(session_steps_);
  s.speed = {
      .samples_per_second = static_cast<double>(recipe().optimizer.batch) / step_seconds,
      .step_ms = step_seconds * 1e3,
      .data_wait_ms = data_seconds_ / static_cast<double>(session_steps_) * 1e3,
      .attention_ms = attention ? attention->seconds * static_cast<double>(recipe().optimizer.accumulate) * 1e3 : 0};
}

}  // namespace fib::training
