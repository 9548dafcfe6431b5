// SPDX-License-Identifier: Apache-2.0
// What every backbone is to those who train, evaluate and analyse it.
//
//   auto model = models::make("vit_base_patch16_224", {.attention = AttentionSpec::parse("fibottention")});
//   model->eval();
//   at::Tensor logits = model->forward(images);  // [B,3,224,224] -> [B,1000]
#pragma once

#include <torch/torch.h>

#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "attention/torch/mechanism.h"
#include "models/kinds.h"

namespace fib::models {

/// What one attention layer does to a batch, for the analyses; the windows of an image are samples.
struct LayerView {
  at::Tensor probabilities;  ///< [B,H,Tq,Tk]
  at::Tensor head_outputs;   ///< [B,H,Tq,e], before the projection
};

/// The tensor of a name, undefined where there is none.
using StoredTensors = std::function<at::Tensor(const std::string& name)>;

class Model : public torch::nn::Module {
 public:
  explicit Model(const Dimensions& dims);

  /// Images [B,C,h,w], or clips [B,C,T,h,w], to logits [B,classes].
  at::Tensor forward(const at::Tensor& images) { return classify(features(images)); }

  /// All tokens after the last norm, [B,T,D].
  virtual at::Tensor tokens(const at::Tensor& images) = 0;
  /// What the classifier sees, [B,D].
  virtual at::Tensor features(const at::Tensor& images) = 0;
  virtual at::Tensor classify(const at::Tensor& features) = 0;

  /// One attention layer, counted from 0 as in attentions(), with nothing of the others kept.
  LayerView inspect(const at::Tensor& images, int64_t layer);
  /// Of that only the outputs, which costs no memory of T².
  at::Tensor head_outputs(const at::Tensor& images, int64_t layer);
  /// The mechanisms in order of depth.
  virtual std::vector<attention::MechanismPtr> attentions() const = 0;

  /// Pictures of another size from now on: position embeddings are interpolated, supports made anew.
  virtual void set_resolution(int64_t height, int64_t width) = 0;
  const Dimensions& dimensions() const { return dims_; }
  Cost cost() const { return models::cost(dims_); }

  /// A stored tensor as this model needs it, e.g. position embeddings on another grid; others are returned as they are.
  virtual at::Tensor adapted(const std::string& name, const at::Tensor& stored) const;
  /// What a parameter begins with that the weights do not have, where they are of another kind of model that this one
  /// can begin from; undefined: it is missing.
  virtual at::Tensor made_of(const std::string& name, const StoredTensors& stored) const;

 protected:
  /// Throws std::invalid_argument unless they are [B,C,h,w] of the model's size, or clips [B,C,T,h,w].
  void check_input(const at::Tensor& images) const;
  /// New sizes for the mechanisms and the model.
  void take_dimensions(const Dimensions& dims);

 private:
  /// What reaches the mechanism of a layer.
  attention::Inputs attention_inputs(const at::Tensor& images, int64_t layer);

  Dimensions dims_;
};

using ModelPtr = std::shared_ptr<Model>;

/// Each in the file of its backbone.
ModelPtr make_vit(const Dimensions& dims);
ModelPtr make_convit(const Dimensions& dims);
ModelPtr make_swin(const Dimensions& dims);
ModelPtr make_iformer(const Dimensions& dims);
ModelPtr make_cvt(const Dimensions& dims);
ModelPtr make_mvit(const Dimensions& dims);
ModelPtr make_timesformer(const Dimensions& dims);

struct Builder {
  const Kind* kind;
  ModelPtr (*make)(const Dimensions& dims);
};
inline constexpr Builder kBuilders[] = {{&kVit, make_vit},
                                        {&kConvit, make_convit},
                                        {&kSwin, make_swin},
                                        {&kIformer, make_iformer},
                                        {&kCvt, make_cvt},
                                        {&kMvit, make_mvit},
                                        {&kTimesformer, make_timesformer}};
static_assert(std::size(kBuilders) == std::size(kKinds), "a kind has rows and no builder");

/// Throws std::invalid_argument for an unknown name or a choice that does not fit.
ModelPtr make(const std::string& name, const Options& options = {});

}  // namespace fib::models
