// SPDX-License-Identifier: Apache-2.0
#include "models/torch/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace fib::models {

namespace {

/// Ends the watch however the pass ends.
class Watch {
 public:
  explicit Watch(attention::MechanismPtr mechanism) : mechanism_(std::move(mechanism)) {
    mechanism_->show_inputs_to(&inputs);
  }
  ~Watch() { mechanism_->show_inputs_to(nullptr); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  attention::Inputs inputs;

 private:
  attention::MechanismPtr mechanism_;
};

at::Tensor outputs_by_head(attention::Mechanism& mechanism, const attention::Inputs& in) {
  const at::Tensor merged = mechanism.forward(in);                                         // [B,T,H·e]
  return merged.view({merged.size(0), merged.size(1), in.v.size(1), -1}).transpose(1, 2);  // [B,H,T,e]
}

}  // namespace

Model::Model(const Dimensions& dims) : torch::nn::Module(dims.row.kind->name), dims_(dims) {}

attention::Inputs Model::attention_inputs(const at::Tensor& images, int64_t layer) {
  const std::vector<attention::MechanismPtr> layers = attentions();
  if (layer < 0 || layer >= static_cast<int64_t>(layers.size())) {
    throw std::invalid_argument(fmt::format("{} has layers 0 to {}, got {}", dims_.row.name, layers.size() - 1, layer));
  }
  const Watch watch(layers[static_cast<size_t>(layer)]);
  features(images);
  return watch.inputs;
}

LayerView Model::inspect(const at::Tensor& images, int64_t layer) {
  const attention::Inputs in = attention_inputs(images, layer);
  attention::Mechanism& mechanism = *attentions()[static_cast<size_t>(layer)];
  return {mechanism.probabilities(in), outputs_by_head(mechanism, in)};
}

at::Tensor Model::head_outputs(const at::Tensor& images, int64_t layer) {
  const attention::Inputs in = attention_inputs(images, layer);
  return outputs_by_head(*attentions()[static_cast<size_t>(layer)], in);
}

at::Tensor Model::adapted(const std::string&, const at::Tensor& stored) const { return stored; }

at::Tensor Model::made_of(const std::string&, const StoredTensors&) const { return {}; }

void Model::check_input(const at::Tensor& images) const {
  const std::vector<int64_t> shape = dims_.sample_shape();
  if (images.dim() > 0 && images.sizes().slice(1) == at::IntArrayRef(shape)) return;
  throw std::invalid_argument(fmt::format("{} takes {} [B, {}], got [{}]", dims_.row.name,
                                          dims_.takes_clips() ? "clips" : "images", fmt::join(shape, ", "),
                                          fmt::join(images.sizes(), ", ")));
}

void Model::take_dimensions(const Dimensions& dims) {
  const std::vector<attention::MechanismPtr> mechanisms = attentions();
  const std::vector<AttentionLayer> layers = attention_layers(dims);
  for (size_t i = 0; i < layers.size(); ++i) {
    const attention::Geometry& g = layers[i].geometry;
    mechanisms[i]->resize(g.query_grid, g.key_grid, g.head_dim);
  }
  dims_ = dims;
}

ModelPtr make(const std::string& name, const Options& options) {
  const Dimensions dims = dimensions(name, options);
  return std::ranges::find(kBuilders, dims.row.kind, &Builder::kind)->make(dims);
}

}  // namespace fib::models
