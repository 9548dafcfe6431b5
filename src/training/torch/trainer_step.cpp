// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/rng.h"
#include "data/transforms/mixup.h"
#include "training/torch/loss.h"
#include "training/torch/stopwatch.h"
#include "training/torch/trainer.h"

namespace fib::training {
namespace {

/// Keeps the draws of dropout apart from all other uses of the seed.
constexpr uint64_t kDropoutStream = 0x64726f70;

at::Tensor targets_of(const Batch& batch, int64_t classes, double smoothing) {
  std::vector<float> targets = mixed_targets(batch.labels, classes, smoothing, batch.mix);
  return at::from_blob(targets.data(), {static_cast<int64_t>(batch.size()), classes}).clone();
}

}  // namespace

void Trainer::train_until_epoch_ends_or_stop() {
  const int64_t epoch = progress_.step / steps_per_epoch_;
  experiment_.model->train();
  BatchStream stream = experiment_.train->epoch(static_cast<uint64_t>(epoch),
                                                static_cast<size_t>(progress_.step - epoch * steps_per_epoch_));
  while (!stopping_) {
    const Stopwatch watch;
    std::optional<Batch> batch = stream.next();
    if (!batch) return;
    data_seconds_ += watch.seconds();
    for (const std::string& line : batch->skipped) observer_.noted("skipped " + line);
    train_step(*batch);
    progress_.train_seconds += watch.seconds();
    session_seconds_ += watch.seconds();
    // The end of an epoch is saved after its evaluation.
    const bool due = recipe().checkpoint_every > 0 && progress_.step % recipe().checkpoint_every == 0;
    if (due && progress_.step % steps_per_epoch_ != 0) save();
  }
}

void Trainer::train_step(Batch& batch) {
  const double lr = schedule_.rate(progress_.step, steps_per_epoch_);
  parameters_.zero_gradients();
  // Dropout depends on the step alone, so a resumed run draws what an uninterrupted one would.
  const auto rank = static_cast<uint64_t>(group_.rank());
  const CounterRng draws(static_cast<uint64_t>(recipe().seed),
                         {kDropoutStream, static_cast<uint64_t>(progress_.step), rank});
  torch::manual_seed(draws.at(0));
  const double loss = loss_or_save(batch);
  double norm = NAN;
  if (std::isfinite(loss)) norm = optimizer_.step(lr, 1.0 / group_.world());
  if (!std::isfinite(norm)) diverge(loss, lr);
  if (experiment_.companion) experiment_.companion->stepped(progress_.step, total_steps());
  account(loss, lr, norm);
}

/// When another process is lost, this one is at a finished step: the gradients that did not arrive had changed nothing
/// yet. Statistics of BatchNorm had, so a model that has them is left to its last checkpoint.
double Trainer::loss_or_save(Batch& batch) {
  try {
    const double loss = backward(batch);
    if (parameters_.has_buffers()) group_.broadcast(parameters_.buffers());
    return mean_over_processes(loss);
  } catch (const LostRank&) {
    if (!parameters_.has_buffers()) save();
    throw;
  }
}

/// The mean loss of this process's part of the batch; gradients are summed over processes.
double Trainer::backward(Batch& batch) {
  const models::Dimensions& dims = experiment_.model->dimensions();
  const auto count = static_cast<int64_t>(batch.size());
  const auto parts = recipe().accumulate;
  if (batch.mix.kind != Mix::Kind::none) mix_images(batch.images, batch.size(), {batch.width, batch.height}, batch.mix);
  const at::Tensor images = at::from_blob(batch.images.data(), {count, batch.channels, batch.height, batch.width});
  const at::Tensor targets = targets_of(batch, dims.row.classes, recipe().smoothing);
  double sum = 0;
  for (int64_t part = 0; part < parts; ++part) {
    if (part + 1 == parts) reducer_.arm();
    const at::Tensor logits = experiment_.model->forward(images.narrow(0, part * count / parts, count / parts));
    at::Tensor loss = soft_cross_entropy(logits, targets.narrow(0, part * count / parts, count / parts));
    if (experiment_.companion) loss = loss + experiment_.companion->penalty();
    loss = loss / static_cast<double>(parts);
    loss.backward();
    sum += loss.item<double>();
  }
  reducer_.finish();
  if (experiment_.companion) experiment_.companion->collect(group_);
  return sum;
}

/// Any of them may ask to stop, and then all do, after the same step.
double Trainer::mean_over_processes(double loss) {
  const at::Tensor sums = at::tensor({loss, observer_.wants_stop() ? 1.0 : 0.0}, at::kDouble);
  group_.sum(sums);
  stopping_ = sums[1].item<double>() > 0;
  return sums[0].item<double>() / group_.world();
}

void Trainer::account(double loss, double lr, double norm) {
  ++progress_.step;
  ++session_steps_;
  for (Tally* tally : {&progress_.window, &progress_.epoch}) {
    tally->loss += loss;
    ++tally->steps;
  }
  observer_.stepped({.step = progress_.step,
                     .steps = total_steps(),
                     .epoch = (progress_.step - 1) / steps_per_epoch_ + 1,
                     .epochs = recipe().epochs,
                     .images = recipe().batch,
                     .loss = loss,
                     .lr = lr,
                     .norm = norm});
  if (progress_.step % recipe().log_every == 0) log_window(lr, norm);
}

void Trainer::log_window(double lr, double norm) {
  const double epoch = static_cast<double>(progress_.step) / static_cast<double>(steps_per_epoch_);
  if (log_)
    log_->add("train", {{"step", progress_.step},
                        {"epoch", epoch},
                        {"loss", progress_.window.mean()},
                        {"lr", lr},
                        {"grad_norm", norm}});
  progress_.window = {};
}

void Trainer::diverge(double loss, double lr) const {
  std::ostringstream text;
  text << (std::isfinite(loss) ? "the gradient" : "the loss") << " is not finite at step " << progress_.step + 1
       << " (epoch " << progress_.step / steps_per_epoch_ + 1 << ", learning rate " << lr << ")";
  if (directory_ != nullptr)
    text << "; the last good checkpoint is step " << saved_step_ << " in '" << directory_->files().root.string() << "'";
  text << "; a lower --lr or a smaller --clip may help";
  throw Diverged(text.str());
}

}  // namespace fib::training
