// SPDX-License-Identifier: Apache-2.0
// What every backbone is to those who train, evaluate and analyse it.
//
//   auto model = models::make("vit_base_patch16_224", {.attention = AttentionSpec::parse("fibottention")});
//   model->eval();
//   at::Tensor logits = model->forward(images);  // [B,3,224,224] -> [B,1000]
#pragma once

#include <torch/torch.h>

#include <memory>
#include <string>
#include <vector>

#include "attention/mechanism.h"
#include "models/table/cost.h"

namespace fib::models {

/// What one attention layer does to a batch, for the analyses.
struct LayerView {
  at::Tensor probabilities;  ///< [B,H,Tq,Tk]
  at::Tensor head_outputs;   ///< [B,H,Tq,e], before the projection
};

class Model : public torch::nn::Module {
 public:
  using torch::nn::Module::Module;

  /// Pictures [B,C,h,w] to logits [B,classes].
  at::Tensor forward(const at::Tensor& images) { return classify(features(images)); }

  /// All tokens after the last norm, [B,T,D].
  virtual at::Tensor tokens(const at::Tensor& images) = 0;
  /// What the classifier sees, [B,D].
  virtual at::Tensor features(const at::Tensor& images) = 0;
  virtual at::Tensor classify(const at::Tensor& features) = 0;

  /// One attention layer, counted from 0, with nothing of the others kept.
  virtual LayerView inspect(const at::Tensor& images, int64_t layer) = 0;
  /// The mechanisms in order of depth.
  virtual std::vector<attention::MechanismPtr> attentions() const = 0;

  /// Pictures of another size from now on: position embeddings are interpolated, supports made anew.
  virtual void set_resolution(int64_t height, int64_t width) = 0;
  virtual const Dimensions& dimensions() const = 0;
  Cost cost() const { return models::cost(dimensions()); }

  /// A stored tensor as this model needs it, e.g. position embeddings on another grid; others are returned as they are.
  virtual at::Tensor adapted(const std::string& name, const at::Tensor& stored) const = 0;
};

using ModelPtr = std::shared_ptr<Model>;

/// Throws std::invalid_argument for an unknown name or a choice that does not fit.
ModelPtr make(const std::string& name, const Options& options = {});

}  // namespace fib::models
