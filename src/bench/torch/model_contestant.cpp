// SPDX-License-Identifier: Apache-2.0
#include "bench/torch/model_contestant.h"

#include <algorithm>
#include <stdexcept>

#include "attention/registry.h"
#include "base/measure.h"
#include "bench/measure.h"

namespace fib::bench {
namespace {

constexpr int64_t kFloat = sizeof(float);

/// All pairs of one layer, where the mechanism has them in memory at once: in training, or as LibTorch's users write
/// it.
int64_t score_bytes(const models::AttentionLayer& layer, ModelPass pass) {
  const attention::Geometry& g = layer.geometry;
  const auto holds_all = attention::find_mechanism(layer.attention.name).holds_all_scores;
  if (holds_all == nullptr || !holds_all(layer.attention, pass == ModelPass::training)) return 0;
  return layer.samples * g.heads * g.query_tokens() * g.key_tokens() * kFloat;
}

struct ScoreBytes {
  int64_t largest = 0;
  int64_t sum = 0;
};

ScoreBytes score_bytes(const models::Dimensions& d, ModelPass pass, int64_t batch) {
  ScoreBytes bytes;
  for (const models::AttentionLayer& layer : models::attention_layers(d)) {
    const int64_t here = batch * score_bytes(layer, pass);
    bytes.largest = std::max(bytes.largest, here);
    bytes.sum += here;
  }
  return bytes;
}

}  // namespace

int64_t ModelContestant::bytes(const models::Dimensions& d, ModelPass pass, int64_t batch) {
  const models::Cost cost = models::cost(d);
  const int64_t parameters = cost.parameters * kFloat;
  // Later stages have fewer numbers than the first.
  const int64_t token_channels = batch * cost.tokens * d.row.dim * kFloat;
  const ScoreBytes scores = score_bytes(d, pass, batch);
  // Forward keeps one block's tensors: x, its norm, qkv, the four times wider hidden layer.
  if (pass == ModelPass::forward) return parameters + 12 * token_channels + 2 * scores.largest;
  // Training keeps them for every block, and the last block's scores a few times on the way back; gradients, AdamW's
  // two moments and the average are as large as the parameters.
  return 5 * parameters + 20 * d.row.depth * token_channels + scores.sum + 3 * scores.largest;
}

ModelContestant::ModelContestant(const models::Dimensions& d, ModelPass pass, int64_t batch,
                                 const std::string& precision)
    : pass_(pass) {
  const PeakMemory memory;
  torch::manual_seed(0);
  const at::Tensor labels = at::randint(d.row.classes, {batch}, at::kLong);
  std::vector<int64_t> shape = d.sample_shape();
  shape.insert(shape.begin(), batch);
  batch_.tensors = {at::randn(shape), at::one_hot(labels, d.row.classes).to(at::kFloat)};
  models::Options options = d.options;
  options.resolution = d.height;
  options.width = d.width;
  model_ = models::make(d.row.name, options);
  model_->train(pass == ModelPass::training);
  if (pass == ModelPass::training) {
    training::Recipe recipe;
    recipe.run.precision = precision;
    task_ = std::make_unique<training::ClassificationTask>(recipe, model_);
    step_ = std::make_unique<training::TrainingStep>(*task_, nullptr, recipe, alone_);
  }
  run();
  if (const auto grown = memory.growth()) peak_memory_mb_ = static_cast<double>(*grown) / kMegabyte;
  if (!at::isfinite(last_).all().item<bool>()) {
    throw std::runtime_error(d.row.name + " with " + d.options.attention.to_string() +
                             " gives values that are not finite");
  }
}

void ModelContestant::run() { last_ = pass_ == ModelPass::forward ? forward_once() : training_step(); }

at::Tensor ModelContestant::forward_once() {
  const at::NoGradGuard no_grad;
  return model_->forward(batch_.tensors[0]);
}

at::Tensor ModelContestant::training_step() {
  const double loss = step_->gradients(batch_, steps_++).mean;
  step_->update(1e-4);
  return at::tensor(loss);
}

StepProfile ModelContestant::profile() {
  constexpr int kSteps = 3;
  return profile_steps(
      kSteps, [&] { step_->gradients(batch_, steps_++); }, [&] { step_->update(1e-4); });
}

}  // namespace fib::bench
