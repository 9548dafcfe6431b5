// SPDX-License-Identifier: Apache-2.0
#include "training/torch/trainer.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/measure.h"

namespace fib::training {

Trainer::Trainer(Experiment experiment, ProcessGroup& group, const RunDirectory* directory, Observer& observer,
                 CancelToken cancel)
    : experiment_(std::move(experiment)),
      group_(group),
      directory_(directory),
      observer_(observer),
      cancel_(std::move(cancel)),
      step_(*experiment_.task, experiment_.hook.get(), recipe(), group),
      schedule_(Schedule::of(recipe().schedule, recipe().optimizer.peak_lr())),
      steps_per_epoch_(experiment_.task->steps_per_epoch()) {}

RunFacts Trainer::facts() {
  const TaskFacts task = experiment_.task->facts();
  return {.model = recipe().model.name,
          .attention = recipe().model.attention,
          .data = recipe().data.source,
          .samples = task.samples,
          .evaluation_unit = task.evaluation_unit.empty() ? task.samples : task.evaluation_unit,
          .parameters = step_.parameters().parameters(),
          .train_samples = task.train,
          .validation_samples = task.validation,
          .test_samples = task.test,
          .batch = recipe().optimizer.batch,
          .first_step = state_.step,
          .steps = total_steps(),
          .evaluation_samples = evaluation_samples(),
          .world = group_.world(),
          .notices = task.notices};
}

Trainer::Outcome Trainer::run() {
  if (directory_ != nullptr && !log_) log_.emplace(directory_->files(), state_.log);
  // A run that was killed while it saved may have weights beside its state that are one checkpoint older.
  const bool fresh = saved_step_ < 0;
  if (!fresh && directory_ != nullptr) export_weights();
  observer_.started(facts());
  try {
    if (fresh) begin();
    return run_epochs();
  } catch (const Cancelled&) {
    return Outcome::stopped;
  } catch (const LostRank& error) {
    if (directory_ == nullptr) throw;
    throw LostRank(fmt::format("{}; step {} is saved in '{}', continue with --resume", error.what(), saved_step_,
                               directory_->files().root.string()));
  }
}

void Trainer::begin() {
  experiment_.task->begin(group_, {.progress = {}, .cancel = cancel_},
                          [&](const std::string& line) { observer_.noted(line); });
  step_.begin_from_here();
  save();
}

Trainer::Outcome Trainer::run_epochs() {
  while (true) {
    if (state_.evaluated_epochs < state_.step / steps_per_epoch_) close_epoch();
    if (state_.step >= total_steps() || no_longer_improves()) break;
    train_until_epoch_ends_or_stop();
    if (!stopping_) continue;
    save();
    return Outcome::stopped;
  }
  finish();
  return Outcome::finished;
}

/// A function of the state alone, so that a resumed run ends where an uninterrupted one does.
bool Trainer::no_longer_improves() const {
  const int64_t patience = recipe().schedule.early_stop;
  if (patience == 0 || state_.best.weights.empty()) return false;
  int64_t worse = 0;
  for (int64_t epoch = state_.best.epoch + 1; epoch <= state_.evaluated_epochs; ++epoch) worse += evaluation_due(epoch);
  return worse >= patience;
}

void Trainer::train_until_epoch_ends_or_stop() {
  const int64_t epoch = state_.step / steps_per_epoch_;
  experiment_.task->train();
  const std::unique_ptr<TaskStream> stream = experiment_.task->epoch(epoch, state_.step - epoch * steps_per_epoch_);
  while (!stopping_) {
    const Stopwatch watch;
    const std::optional<TaskBatch> batch = stream->next();
    if (!batch) return;
    data_seconds_ += watch.seconds();
    for (const std::string& line : batch->skipped) observer_.noted("skipped " + line);
    train_step(*batch);
    state_.train_seconds += watch.seconds();
    session_seconds_ += watch.seconds();
    // The end of an epoch is saved after its evaluation.
    const bool due = recipe().run.checkpoint_every > 0 && state_.step % recipe().run.checkpoint_every == 0;
    if (due && state_.step % steps_per_epoch_ != 0) save();
  }
}

void Trainer::train_step(const TaskBatch& batch) {
  const double lr = schedule_.rate(state_.step, steps_per_epoch_);
  const double loss = loss_or_save(batch);
  double norm = NAN;
  if (std::isfinite(loss)) norm = step_.update(lr);
  if (!std::isfinite(norm)) diverge(loss, lr);
  if (experiment_.hook) experiment_.hook->stepped(state_.step, total_steps());
  account(loss, lr, norm);
}

/// When another process is lost, this one is at a finished step: the gradients that did not arrive had changed nothing
/// yet. Statistics of BatchNorm had, so a model that has them is left to its last checkpoint.
double Trainer::loss_or_save(const TaskBatch& batch) {
  try {
    const TrainingStep::Loss loss = step_.gradients(batch, state_.step, cancel_.requested());
    stopping_ = loss.stop;
    return loss.mean;
  } catch (const LostRank&) {
    if (!step_.parameters().has_buffers()) save();
    throw;
  }
}

void Trainer::account(double loss, double lr, double norm) {
  ++state_.step;
  ++session_steps_;
  for (Tally* tally : {&state_.window, &state_.epoch}) {
    tally->loss += loss;
    ++tally->steps;
  }
  observer_.stepped({.step = state_.step,
                     .steps = total_steps(),
                     .epoch = (state_.step - 1) / steps_per_epoch_ + 1,
                     .epochs = recipe().schedule.epochs,
                     .samples = recipe().optimizer.batch,
                     .loss = loss,
                     .lr = lr,
                     .norm = norm});
  if (state_.step % recipe().run.log_every == 0) log_window(lr, norm);
}

void Trainer::log_window(double lr, double norm) {
  const double epoch = static_cast<double>(state_.step) / static_cast<double>(steps_per_epoch_);
  if (log_)
    log_->add(
        "train",
        {{"step", state_.step}, {"epoch", epoch}, {"loss", state_.window.mean()}, {"lr", lr}, {"grad_norm", norm}});
  state_.window = {};
}

void Trainer::diverge(double loss, double lr) const {
  std::string text = fmt::format("{} is not finite at step {} (epoch {}, learning rate {:g})",
                                 std::isfinite(loss) ? "the gradient" : "the loss", state_.step + 1,
                                 state_.step / steps_per_epoch_ + 1, lr);
  if (directory_ != nullptr)
    text +=
        fmt::format("; the last good checkpoint is step {} in '{}'", saved_step_, directory_->files().root.string());
  throw Diverged(text + "; a lower --lr or a smaller --grad-clip may help");
}

}  // namespace fib::training
