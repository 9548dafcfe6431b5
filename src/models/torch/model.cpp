// SPDX-License-Identifier: Apache-2.0
#include "models/torch/model.h"

#include <sstream>
#include <stdexcept>

#include "models/torch/convit.h"
#include "models/torch/cvt.h"
#include "models/torch/iformer.h"
#include "models/torch/mvit.h"
#include "models/torch/swin.h"
#include "models/torch/vit.h"

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

template <class Backbone>
ModelPtr built(const Dimensions& dims) {
  return std::make_shared<Backbone>(dims);
}

struct Builder {
  const char* kind;
  ModelPtr (*build)(const Dimensions& dims);
};

constexpr Builder kBuilders[] = {{"vit", built<Vit>},         {"convit", built<Convit>}, {"swin", built<Swin>},
                                 {"iformer", built<Iformer>}, {"cvt", built<Cvt>},       {"mvit", built<Mvit>}};

}  // namespace

attention::Inputs Model::attention_inputs(const at::Tensor& images, int64_t layer) {
  const std::vector<attention::MechanismPtr> layers = attentions();
  if (layer < 0 || layer >= static_cast<int64_t>(layers.size())) {
    throw std::invalid_argument(dims_.row.name + " has layers 0 to " + std::to_string(layers.size() - 1) + ", got " +
                                std::to_string(layer));
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

void Model::check_images(const at::Tensor& images) const {
  const bool good = images.dim() == 4 && images.size(1) == dims_.options.channels && images.size(2) == dims_.height &&
                    images.size(3) == dims_.width;
  if (good) return;
  std::ostringstream message;
  message << dims_.row.name << " takes pictures [B, " << dims_.options.channels << ", " << dims_.height << ", "
          << dims_.width << "], got " << images.sizes();
  throw std::invalid_argument(message.str());
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
  for (const Builder& builder : kBuilders) {
    if (dims.row.kind == builder.kind) return builder.build(dims);
  }
  throw std::logic_error("model " + name + " is of a kind without a backbone: " + dims.row.kind);
}

}  // namespace fib::models
