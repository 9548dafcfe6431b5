// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "models/torch/weights.h"
#include "training/torch/trainer.h"

namespace fib::training {

void Trainer::close_epoch() {
  const int64_t epoch = progress_.step / steps_per_epoch_;
  if (log_) log_->add("epoch", {{"step", progress_.step}, {"epoch", epoch}, {"train_loss", progress_.epoch.mean()}});
  progress_.epoch = {};
  const bool due = epoch % recipe().eval_every == 0 || epoch == recipe().epochs;
  if (due && experiment_.validation) evaluate_epoch(epoch);
  progress_.evaluated_epochs = epoch;
  save();
}

void Trainer::evaluate_epoch(int64_t epoch) {
  for (const bool averaged : {false, true}) {
    if (averaged && !optimizer_.averages()) continue;
    EvaluationFacts facts{.split = "validation", .weights = averaged ? "ema" : "model", .epoch = epoch};
    facts.result = evaluate_weights(*experiment_.validation, facts.split, averaged);
    // Weights change their meaning with what accompanies them, so only the last ones count then.
    facts.best = !experiment_.companion && facts.result.top1 > progress_.best.top1;
    if (facts.best) choose(facts);
    report(facts);
  }
}

Evaluation Trainer::evaluate_weights(const Loader& loader, const std::string& split, bool averaged) {
  const auto progress = [&](int64_t done, int64_t total) { observer_.evaluating(split, done, total); };
  const ValuesInPlace values(parameters_, averaged ? &optimizer_.average() : nullptr);
  return evaluate(*experiment_.model, loader, group_, progress);
}

void Trainer::report(const EvaluationFacts& facts) {
  if (log_)
    log_->add(facts.split + "/" + facts.weights, {{"step", progress_.step},
                                                  {"epoch", facts.epoch},
                                                  {"split", facts.split},
                                                  {"weights", facts.weights},
                                                  {"top1", facts.result.top1},
                                                  {"top5", facts.result.top5},
                                                  {"loss", facts.result.loss}});
  observer_.evaluated(facts);
}

void Trainer::choose(const EvaluationFacts& facts) {
  progress_.best = {.weights = facts.weights, .epoch = facts.epoch, .top1 = facts.result.top1};
  export_best(facts);
}

/// The test set is seen once, by the weights that the validation set chose; without one by the averaged weights where
/// they are kept.
EvaluationFacts Trainer::test() {
  EvaluationFacts facts{.split = "test", .weights = optimizer_.averages() ? "ema" : "model", .epoch = recipe().epochs};
  if (progress_.best.weights.empty()) {
    facts.result = evaluate_weights(*experiment_.test, facts.split, optimizer_.averages());
    return facts;
  }
  facts.weights = progress_.best.weights;
  facts.epoch = progress_.best.epoch;
  at::Tensor chosen = parameters_.values().clone();
  const ValuesInPlace values(parameters_, &chosen);
  if (directory_ != nullptr) models::load_weights(*experiment_.model, directory_->files().best());
  group_.broadcast(parameters_.values());
  facts.result = evaluate_weights(*experiment_.test, facts.split, false);
  return facts;
}

void Trainer::finish() {
  const EvaluationFacts tested = test();
  report(tested);
  if (log_) log_->sync();
  write_summary(tested);
}

}  // namespace fib::training
