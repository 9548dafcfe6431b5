// SPDX-License-Identifier: Apache-2.0
#include "sequences/torch/compile_text.h"

#include <fmt/format.h>

#include <map>

#include "sequences/compiled_text.h"

namespace fib::sequences {
namespace {

using namespace engine;

/// Tokens of a call that reads a prompt: a product has rows enough to be fast.
constexpr int64_t kPromptTokens = 32;

/// Nothing in it counts samples: it is one sequence.
class DecoderGraph {
 public:
  DecoderGraph(TextDecoder& model, int64_t tokens)
      : parameters_(model.named_parameters()), dims_(model.trunk().dimensions()), tokens_(tokens) {}

  Graph run() {
    const ValueId input = add_value("tokens", {tokens_}, nullptr);
    graph_.inputs = {input};
    const ValueId places = dims_.row.positions == Positions::learned ? parameter("trunk.positions") : kNoValue;
    ValueId x = node(Op::embedding, {input, parameter("symbols"), places}, dims_.row.width);
    for (int64_t layer = 0; layer < dims_.row.layers; ++layer) x = block(layer, x);
    const ValueId normed = norm("trunk.norm", x);
    const ValueId last = add_value("", {1, dims_.row.width}, nullptr);
    graph_.nodes.push_back({Op::slice, {normed}, last, Slice{0, tokens_ - 1}});
    const ValueId table = parameter("symbols");
    const ValueId logits = add_value("", {1, graph_.shape(table)[0].count}, nullptr);
    graph_.nodes.push_back({Op::linear, {last, table}, logits, {}});
    graph_.outputs = {logits};
    return std::move(graph_);
  }

 private:
  ValueId block(int64_t layer, ValueId x) {
    const std::string name = fmt::format("trunk.blocks.{}.", layer);
    const ValueId qkv = linear(name + "attn.qkv", norm(name + "norm1", x));
    const ValueId mixed = node(Op::cached_attention, {qkv}, dims_.row.width, attention(layer));
    const ValueId y = node(Op::add, {x, linear(name + "attn.proj", mixed)}, dims_.row.width);
    const ValueId hidden = linear(name + "mlp.fc1", norm(name + "norm2", y));
    const ValueId bent = node(Op::gelu, {hidden}, graph_.shape(hidden)[1].count);
    return node(Op::add, {y, linear(name + "mlp.fc2", bent)}, dims_.row.width);
  }

  CachedAttention attention(int64_t layer) const {
    const CausalLayer& causal = dims_.layers[static_cast<size_t>(layer)];
    return {.heads = dims_.row.heads,
            .head_dim = dims_.head_dim(),
            .rows = causal.rows(dims_.row.context),
            .scale = dims_.score_scale(),
            .rotary_base = dims_.row.positions == Positions::rotary ? kRotaryBase : 0,
            .distances = causal.distances};
  }

  ValueId linear(const std::string& name, ValueId x) {
    const ValueId weight = parameter(name + ".weight"), bias = parameter(name + ".bias");
    return node(Op::linear, {x, weight, bias}, graph_.shape(weight)[0].count);
  }
  ValueId norm(const std::string& name, ValueId x) {
    return node(Op::layer_norm, {x, parameter(name + ".weight"), parameter(name + ".bias")}, dims_.row.width,
                LayerNorm{kNormEps});
  }
  /// A node whose output is [tokens,width].
  ValueId node(Op op, std::vector<ValueId> inputs, int64_t width, Attributes attributes = {}) {
    const ValueId out = add_value("", {tokens_, width}, nullptr);
    graph_.nodes.push_back({op, std::move(inputs), out, std::move(attributes)});
    return out;
  }

  ValueId parameter(const std::string& name) {
    const auto known = constants_.find(name);
    if (known != constants_.end()) return known->second;
    const at::Tensor numbers = parameters_[name].detach().contiguous();
    const ValueId id = add_value(name, numbers.sizes().vec(), {numbers.data_ptr<float>(), [numbers](const float*) {}});
    constants_.emplace(name, id);
    return id;
  }
  ValueId add_value(const std::string& name, const std::vector<int64_t>& sizes, std::shared_ptr<const float> data) {
    Shape shape;
    for (const int64_t size : sizes) shape.push_back({size});
    graph_.values.push_back({name, std::move(shape), std::move(data)});
    return static_cast<ValueId>(graph_.values.size() - 1);
  }

  torch::OrderedDict<std::string, at::Tensor> parameters_;
  const DecoderDimensions& dims_;
  int64_t tokens_;
  Graph graph_;
  std::map<std::string, ValueId> constants_;
};

}  // namespace

Graph decoder_graph(TextDecoder& model, int64_t tokens) { return DecoderGraph(model, tokens).run(); }

FibContent compiled_text(const TrainedText& text, Precision precision, TensorStore& tensors) {
  FibContent content;
  content.precision = precision;
  for (const int64_t count : {int64_t{1}, kPromptTokens})
    content.programs.push_back(lower(decoder_graph(*text.model, count), precision, tensors));
  content.card = to_metadata(text.card());
  return content;
}

}  // namespace fib::sequences
