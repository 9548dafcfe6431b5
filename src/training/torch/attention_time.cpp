// SPDX-License-Identifier: Apache-2.0
#include "training/torch/attention_time.h"

#include <algorithm>
#include <limits>

#include "training/torch/stopwatch.h"

namespace fib::training {
namespace {

double packed_seconds(attention::Mechanism& mechanism, int64_t batch) {
  const attention::Geometry& g = mechanism.geometry();
  const at::Tensor qkv = torch::randn({batch, g.query_tokens(), 3, g.heads, g.head_dim}, torch::requires_grad());
  const at::Tensor gradient = torch::randn({batch, g.query_tokens(), g.heads * g.value_dim});
  const Stopwatch watch;
  mechanism.forward_packed(qkv).backward(gradient);
  return watch.seconds();
}

double separate_seconds(attention::Mechanism& mechanism, int64_t batch) {
  const attention::Geometry& g = mechanism.geometry();
  attention::Inputs in;
  in.q = torch::randn({batch, g.heads, g.query_tokens(), g.head_dim}, torch::requires_grad());
  in.k = torch::randn({batch, g.heads, g.key_tokens(), g.head_dim}, torch::requires_grad());
  in.v = torch::randn({batch, g.heads, g.key_tokens(), g.value_dim}, torch::requires_grad());
  const at::Tensor gradient = torch::randn({batch, g.query_tokens(), g.heads * g.value_dim});
  const Stopwatch watch;
  mechanism.forward(in).backward(gradient);
  return watch.seconds();
}

double seconds_of(attention::Mechanism& mechanism, int64_t batch) {
  const attention::Geometry& g = mechanism.geometry();
  const bool packed = g.square() && g.head_dim == g.value_dim;
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i)
    best = std::min(best, packed ? packed_seconds(mechanism, batch) : separate_seconds(mechanism, batch));
  return best;
}

}  // namespace

double attention_seconds(models::Model& model, int64_t batch) {
  const std::vector<attention::MechanismPtr> mechanisms = model.attentions();
  const std::vector<models::AttentionLayer> layers = models::attention_layers(model.dimensions());
  double sum = 0;
  for (size_t i = 0; i < layers.size(); ++i) sum += seconds_of(*mechanisms[i], batch * layers[i].samples);
  return sum;
}

}  // namespace fib::training
