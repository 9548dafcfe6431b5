// SPDX-License-Identifier: Apache-2.0
#include "training/torch/training_step.h"

#include "base/rng.h"
#include "ops/layers.h"

namespace fib::training {
namespace {

/// Keeps the draws of dropout apart from all other uses of the seed.
constexpr uint64_t kDropoutStream = 0x64726f70;

GroupOptions group_options(const Task& task, const OptimizerSettings& settings) {
  return {.weight_decay = settings.weight_decay,
          .decay_all = settings.weight_decay_on == "all",
          .layer_decay = settings.layer_decay,
          .stages = task.stages()};
}

}  // namespace

TrainingStep::TrainingStep(Task& task, StepHook* hook, const Recipe& recipe, ProcessGroup& group)
    : task_(task),
      hook_(hook),
      seed_(static_cast<uint64_t>(recipe.run.seed)),
      parts_(recipe.optimizer.accumulate),
      bfloat16_(recipe.run.precision == "bf16"),
      group_(group),
      parameters_(task.network()),
      optimizer_(parameters_, parameter_groups(parameters_, group_options(task, recipe.optimizer)),
                 OptimizerOptions::of(recipe.optimizer, recipe.ema)),
      reducer_(parameters_, group) {
  begin_from_here();
}

/// Values are the same everywhere already, unless machines differ in how they compute or which weights they were given.
void TrainingStep::begin_from_here() {
  group_.broadcast(parameters_.values());
  if (optimizer_.averages()) optimizer_.average().copy_(parameters_.values());
}

TrainingStep::Loss TrainingStep::gradients(const TaskBatch& batch, int64_t step, bool stop) {
  parameters_.zero_gradients();
  // What a task draws depends on the step alone, so a resumed run draws what an uninterrupted one would.
  const CounterRng draws(seed_, {kDropoutStream, static_cast<uint64_t>(step), static_cast<uint64_t>(group_.rank())});
  torch::manual_seed(draws.at(0));
  const double loss = backward(batch);
  if (parameters_.has_buffers()) group_.broadcast(parameters_.buffers());
  const at::Tensor sums = at::tensor({loss, stop ? 1.0 : 0.0}, at::kDouble);
  group_.sum(sums);
  return {.mean = sums[0].item<double>() / group_.world(), .stop = sums[1].item<double>() > 0};
}

at::Tensor TrainingStep::loss_of(const TaskBatch& part) {
  const ops::Bfloat16Products products(bfloat16_);
  return task_.loss(part);
}

/// The mean loss of this process's part of the batch; gradients are summed over processes.
double TrainingStep::backward(const TaskBatch& batch) {
  double sum = 0;
  for (int64_t part = 0; part < parts_; ++part) {
    if (part + 1 == parts_) reducer_.arm();
    at::Tensor loss = loss_of(batch.part(part, parts_));
    if (hook_ != nullptr) loss = loss + hook_->penalty();
    loss = loss / static_cast<double>(parts_);
    loss.backward();
    sum += loss.item<double>();
  }
  reducer_.finish();
  if (hook_ != nullptr) hook_->collect(group_);
  return sum;
}

}  // namespace fib::training
