// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "models/torch/weights.h"
#include "training/recipe/options.h"
#include "training/torch/trainer.h"

namespace fib::training {

void Trainer::save() {
  if (log_) state_.log = log_->sync();
  save(state_);
}

/// state.pt alone decides what a resumed run continues from; the weights beside it are exported from the same step and
/// say so in their metadata.
void Trainer::save(const RunState& state) {
  if (directory_ == nullptr) return;
  save_checkpoint(directory_->files().state(), {.config = write_toml(recipe()),
                                                .run = state,
                                                .values = step_.parameters().values(),
                                                .optimizer = step_.optimizer().state(),
                                                .hook = experiment_.hook ? experiment_.hook->state() : at::Tensor()});
  saved_step_ = state.step;
  export_weights();
  observer_.saved(state.step);
}

TensorMetadata Trainer::metadata(const std::string& weights) const {
  TensorMetadata said = experiment_.task->metadata();
  said["format"] = "pt";
  said["weights"] = weights;
  said["step"] = fmt::format("{}", state_.step);
  return said;
}

void Trainer::export_weights() {
  const torch::nn::Module& network = experiment_.task->network();
  models::save_weights(network, directory_->files().model(), metadata("model"));
  if (!step_.optimizer().averages()) return;
  const ValuesInPlace averaged(step_.parameters(), &step_.optimizer().average());
  models::save_weights(network, directory_->files().ema(), metadata("ema"));
}

void Trainer::export_best(const EvaluationFacts& facts) {
  if (directory_ == nullptr) return;
  const std::string& score = experiment_.task->facts().score.name;
  TensorMetadata said = metadata(facts.weights);
  said["validation_" + score] = fmt::format("{:f}", facts.result.value(score));
  const ValuesInPlace chosen(step_.parameters(), facts.weights == "ema" ? &step_.optimizer().average() : nullptr);
  models::save_weights(experiment_.task->network(), directory_->files().best(), said);
}

void Trainer::load_best() {
  const SafetensorsFile file(directory_->files().best());
  float* values = step_.parameters().values().data_ptr<float>();
  for (const Segment& segment : step_.parameters().segments()) {
    const auto* stored = file.find(segment.name);
    if (stored == nullptr)
      throw std::runtime_error(fmt::format("'{}' has no tensor {}", directory_->files().best().string(), segment.name));
    copy_values(*stored, std::span(values + segment.offset, static_cast<size_t>(segment.size)));
  }
}

void Trainer::resume() {
  if (directory_ != nullptr) restore(load_checkpoint(directory_->files().state()));
  state_ = run_state_from_json(nlohmann::json::parse(broadcast_text(group_, to_json(state_).dump())));
  OptimizerState optimizer = step_.optimizer().state();
  optimizer.steps = state_.step;
  group_.broadcast(step_.parameters().values());
  for (const auto& [name, tensor] : optimizer.memory) group_.broadcast(tensor);
  if (optimizer.average.defined()) group_.broadcast(optimizer.average);
  step_.optimizer().restore(optimizer);
  if (experiment_.hook) group_.broadcast(experiment_.hook->state());
  saved_step_ = state_.step;
}

void Trainer::restore(const Checkpoint& checkpoint) {
  Recipe stored;
  read_toml(stored, checkpoint.config, directory_->files().state().string(), OptionNames::current_or_former);
  const auto differing = differing_keys(stored, recipe());
  if (!differing.empty())
    throw std::invalid_argument(fmt::format("the checkpoint in '{}' was made with other values of: {}",
                                            directory_->files().root.string(), fmt::join(differing, ", ")));
  step_.parameters().restore(checkpoint.values);
  step_.optimizer().restore(checkpoint.optimizer);
  if (experiment_.hook) experiment_.hook->state().copy_(checkpoint.hook);
  state_ = checkpoint.run;
  saved_step_ = state_.step;
}

}  // namespace fib::training
