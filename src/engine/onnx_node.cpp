// SPDX-License-Identifier: Apache-2.0
#include "engine/onnx_node.h"

namespace fib::engine {

OnnxNode::OnnxNode(const Graph& graph, const OnnxForm& form, OnnxWriter& writer)
    : graph_(graph), form_(form), writer_(writer), names_(graph.values.size()) {}

OnnxName OnnxNode::name_of(ValueId id) {
  OnnxName& name = names_[static_cast<size_t>(id)];
  const Value& value = graph_.values[static_cast<size_t>(id)];
  if (name.empty()) name = floats(sizes(value.shape, 1), value.elements(), value.name);
  return name;
}

void OnnxNode::write(const Node& node) {
  node_ = &node;
  set_name(node.output, row_of(node.op).onnx(*this));
}

OnnxNode::Quantized OnnxNode::quantized(size_t i) {
  const auto [place, is_new] = quantized_.try_emplace(node_->inputs[i]);
  if (is_new) {
    const std::vector<OnnxName> parts = writer_.node_with_outputs("DynamicQuantizeLinear", {in(i)}, 3, {});
    place->second = {parts[0], parts[1], parts[2]};
  }
  return place->second;
}

/// ONNX finds the one extent that is left open itself.
OnnxName OnnxNode::reshape(const OnnxName& x, const Shape& shape) {
  std::vector<int64_t> target;
  target.reserve(shape.size());
  for (const Dim& d : shape) target.push_back(d.batched ? -1 : d.count);
  return reshape(x, target);
}

OnnxName OnnxNode::cut(const OnnxName& x, int64_t axis, int64_t begin, int64_t end) {
  return node("Slice", {x, integers({begin}), integers({end}), integers({axis})});
}

OnnxName OnnxNode::extents(const Shape& shape) {
  std::vector<OnnxName> parts;
  for (const Dim& d : shape) {
    const OnnxName count = integers({d.count});
    parts.push_back(d.batched ? node("Mul", {batch(), count}) : count);
  }
  return node("Concat", parts, {{"axis", INT64_C(0)}});
}

OnnxName OnnxNode::batch() {
  if (batch_.empty()) batch_ = node("Gather", {node("Shape", {"images"}), integers({0})});
  return batch_;
}

}  // namespace fib::engine
