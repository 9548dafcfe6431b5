// SPDX-License-Identifier: Apache-2.0
#include "training/torch/trainer.h"

#include <utility>

namespace fib::training {
namespace {

AdamOptions adam_options(const Recipe& recipe) {
  return {.beta1 = recipe.beta1,
          .beta2 = recipe.beta2,
          .eps = recipe.eps,
          .clip = recipe.clip,
          .ema = recipe.ema,
          .ema_warmup = recipe.ema_warmup};
}

std::vector<int64_t> stages_of(const models::ModelRow& row) {
  if (row.stages.empty()) return {row.depth};
  std::vector<int64_t> depths;
  for (const models::Stage& stage : row.stages) depths.push_back(stage.depth);
  return depths;
}

GroupOptions group_options(const Experiment& experiment) {
  return {.weight_decay = experiment.recipe.weight_decay,
          .layer_decay = experiment.recipe.layer_decay,
          .stages = stages_of(experiment.model->dimensions().row)};
}

}  // namespace

Trainer::Trainer(Experiment experiment, ProcessGroup& group, const RunDirectory* directory, Observer& observer)
    : experiment_(std::move(experiment)),
      group_(group),
      directory_(directory),
      observer_(observer),
      parameters_(*experiment_.model),
      optimizer_(parameters_, parameter_groups(parameters_, group_options(experiment_)), adam_options(recipe())),
      reducer_(parameters_, group),
      schedule_(Schedule::of(recipe())),
      steps_per_epoch_(static_cast<int64_t>(experiment_.train->steps_per_epoch())) {
  // The same everywhere already, unless machines differ in how they compute or which weights they were given.
  group_.broadcast(parameters_.values());
  if (optimizer_.averages()) group_.broadcast(optimizer_.average());
}

RunFacts Trainer::facts() const {
  const auto size = [](const std::unique_ptr<Loader>& loader) {
    return loader ? static_cast<int64_t>(loader->dataset().size()) : 0;
  };
  return {.model = recipe().model,
          .attention = recipe().attention,
          .data = recipe().data,
          .parameters = parameters_.parameters(),
          .train_images = size(experiment_.train),
          .validation_images = size(experiment_.validation),
          .test_images = size(experiment_.test),
          .batch = recipe().batch,
          .first_step = progress_.step,
          .steps = total_steps(),
          .world = group_.world()};
}

Trainer::Outcome Trainer::run() {
  if (directory_ != nullptr && !log_) log_.emplace(directory_->files(), progress_.log);
  // A run that was killed while it saved may have weights beside its state that are one checkpoint older.
  if (saved_step_ < 0)
    save();
  else if (directory_ != nullptr)
    export_weights();
  observer_.started(facts());
  try {
    return run_epochs();
  } catch (const LostRank& error) {
    if (directory_ == nullptr) throw;
    throw LostRank(std::string(error.what()) + "; step " + std::to_string(saved_step_) + " is saved in '" +
                   directory_->files().root.string() + "', continue with --resume");
  }
}

Trainer::Outcome Trainer::run_epochs() {
  while (true) {
    if (progress_.evaluated_epochs < progress_.step / steps_per_epoch_) close_epoch();
    if (progress_.step >= total_steps()) break;
    train_until_epoch_ends_or_stop();
    if (!stopping_) continue;
    save();
    return Outcome::stopped;
  }
  finish();
  return Outcome::finished;
}

}  // namespace fib::training
