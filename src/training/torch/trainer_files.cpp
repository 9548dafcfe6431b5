// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "models/torch/weights.h"
#include "training/recipe/toml.h"
#include "training/torch/attention_time.h"
#include "training/torch/trainer.h"

namespace fib::training {
namespace {

std::string joined(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ", ") + item;
  return text;
}

double peak_memory_mb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace

/// state.pt alone decides what a resumed run continues from; the weights beside it are exported from the same step and
/// say so in their metadata.
void Trainer::save() {
  if (directory_ == nullptr) return;
  progress_.log = log_->sync();
  save_checkpoint(directory_->files().state(),
                  {.config = write_toml(recipe()),
                   .progress = progress_,
                   .values = parameters_.values(),
                   .optimizer = optimizer_.state(),
                   .companion = experiment_.companion ? experiment_.companion->state() : at::Tensor()});
  saved_step_ = progress_.step;
  export_weights();
  observer_.saved(progress_.step);
}

TensorMetadata Trainer::metadata(const std::string& weights) const {
  return {{"format", "pt"},        {"model", recipe().model}, {"attention", recipe().attention},
          {"data", recipe().data}, {"weights", weights},      {"step", std::to_string(progress_.step)}};
}

void Trainer::export_weights() {
  models::save_weights(*experiment_.model, directory_->files().model(), metadata("model"));
  if (!optimizer_.averages()) return;
  const ValuesInPlace averaged(parameters_, &optimizer_.average());
  models::save_weights(*experiment_.model, directory_->files().ema(), metadata("ema"));
}

void Trainer::export_best(const EvaluationFacts& facts) {
  if (directory_ == nullptr) return;
  TensorMetadata said = metadata(facts.weights);
  said["validation_top1"] = std::to_string(facts.result.top1);
  const ValuesInPlace chosen(parameters_, facts.weights == "ema" ? &optimizer_.average() : nullptr);
  models::save_weights(*experiment_.model, directory_->files().best(), said);
}

void Trainer::resume() {
  if (directory_ != nullptr) restore(load_checkpoint(directory_->files().state()));
  progress_ = progress_from_json(nlohmann::json::parse(broadcast_text(group_, to_json(progress_).dump())));
  AdamW::State state = optimizer_.state();
  state.steps = progress_.step;
  for (const at::Tensor& tensor : {parameters_.values(), state.mean, state.square, state.average})
    if (tensor.defined()) group_.broadcast(tensor);
  optimizer_.restore(state);
  if (experiment_.companion) group_.broadcast(experiment_.companion->state());
}

void Trainer::restore(const Checkpoint& checkpoint) {
  Recipe stored;
  read_toml(stored, checkpoint.config, directory_->files().state().string());
  const auto differing = differing_keys(stored, recipe());
  if (!differing.empty())
    throw std::invalid_argument("the checkpoint in '" + directory_->files().root.string() +
                                "' was made with other values of: " + joined(differing));
  parameters_.restore(checkpoint.values);
  optimizer_.restore(checkpoint.optimizer);
  if (experiment_.companion) experiment_.companion->state().copy_(checkpoint.companion);
  progress_ = checkpoint.progress;
  saved_step_ = progress_.step;
}

void Trainer::write_summary(const EvaluationFacts& tested) {
  if (directory_ == nullptr) return;
  write_file_atomically(directory_->files().summary(), summary(tested).dump(2) + "\n");
}

nlohmann::ordered_json Trainer::summary(const EvaluationFacts& tested) {
  const RunFacts run = facts();
  nlohmann::ordered_json json = {{"model", run.model},
                                 {"attention", run.attention},
                                 {"data", run.data},
                                 {"seed", recipe().seed},
                                 {"parameters", run.parameters},
                                 {"train_images", run.train_images},
                                 {"epochs", recipe().epochs},
                                 {"steps", run.steps},
                                 {"batch", recipe().batch},
                                 {"processes", run.world},
                                 {"threads", at::get_num_threads()}};
  if (!progress_.best.weights.empty())
    json["validation"] = {{"images", run.validation_images},
                          {"top1", progress_.best.top1},
                          {"weights", progress_.best.weights},
                          {"epoch", progress_.best.epoch}};
  json["test"] = {{"images", tested.result.images},
                  {"top1", tested.result.top1},
                  {"top5", tested.result.top5},
                  {"loss", tested.result.loss},
                  {"weights", tested.weights},
                  {"epoch", tested.epoch},
                  {"images_per_second", tested.result.images_per_second()}};
  add_speed(json);
  return json;
}

/// A resumed run that had nothing left to do has no speed to tell.
void Trainer::add_speed(nlohmann::ordered_json& json) {
  json["train_seconds"] = progress_.train_seconds;
  json["peak_memory_mb"] = peak_memory_mb();
  const attention::Cost cost = experiment_.model->attentions().front()->cost();
  json["attention_cost"] = {{"pruning_ratio", cost.pruning_ratio},
                            {"pruning_ratio_with_cls", cost.pruning_ratio_with_cls}};
  if (session_steps_ == 0) return;
  const double step_seconds = session_seconds_ / static_cast<double>(session_steps_);
  const double attention =
      attention_seconds(*experiment_.model, recipe().batch / (group_.world() * recipe().accumulate)) *
      static_cast<double>(recipe().accumulate);
  json["images_per_second"] = static_cast<double>(recipe().batch) / step_seconds;
  json["step_ms"] = step_seconds * 1e3;
  json["data_wait_ms"] = data_seconds_ / static_cast<double>(session_steps_) * 1e3;
  json["attention_ms"] = attention * 1e3;
}

}  // namespace fib::training
