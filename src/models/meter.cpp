// SPDX-License-Identifier: Apache-2.0
#include "models/meter.h"

namespace fib::models {

void Meter::linear(Part part, int64_t tokens, const LinearShape& shape) {
  total_.*part += static_cast<double>(tokens) * static_cast<double>(shape.from * shape.to);
  parameters((shape.from + (shape.bias ? 1 : 0)) * shape.to);
}

void Meter::conv(Part part, int64_t outputs, const ConvShape& shape) {
  const int64_t fan_in = (shape.depthwise ? 1 : shape.from) * shape.kernel * shape.kernel;
  linear(part, outputs, {fan_in, shape.to, shape.bias});
}

void Meter::attention(const AttentionLayer& layer) {
  const attention::Cost cost = attention::cost(layer.attention, layer.geometry);
  const double samples = static_cast<double>(layer.samples);
  total_.scores += samples * cost.score_macs;
  total_.values += samples * cost.value_macs;
  parameters(cost.parameters);
  if (!layer.replaced) return;
  pruned_ += cost.pruning_ratio;
  ++replaced_;
}

void Meter::self_attention(const AttentionLayer& layer, int64_t dim, bool qkv_bias) {
  const attention::Geometry& g = layer.geometry;
  const int64_t tokens = layer.samples * g.query_tokens();
  linear(&Cost::qkv, tokens, {dim, g.heads * (2 * g.head_dim + g.value_dim), qkv_bias});
  attention(layer);
  linear(&Cost::projection, tokens, {g.heads * g.value_dim, dim});
}

void Meter::mlp(int64_t tokens, int64_t dim, int64_t hidden) {
  linear(&Cost::mlp, tokens, {dim, hidden});
  linear(&Cost::mlp, tokens, {hidden, dim});
}

Cost Meter::total() const {
  Cost total = total_;
  if (replaced_ > 0) total.pruning_ratio = pruned_ / static_cast<double>(replaced_);
  return total;
}

}  // namespace fib::models
