// SPDX-License-Identifier: Apache-2.0
#include "engine/onnx/export.h"

#include <fmt/format.h>
#include <onnx/checker.h>

#include <cmath>
#include <numbers>
#include <stdexcept>

#include "base/atomic_file.h"
#include "engine/onnx/attention.h"

namespace fib::engine {
namespace {

class Exporter {
 public:
  Exporter(const Graph& graph, const OnnxOptions& options)
      : graph_(graph), options_(options), b_(options.opset), names_(graph.values.size()) {}

  onnx::ModelProto run() {
    b_.add_input("images", graph_.shape(graph_.inputs[0]));
    names_[static_cast<size_t>(graph_.inputs[0])] = "images";
    for (const Node& node : graph_.nodes) {
      node_ = &node;
      names_[static_cast<size_t>(node.output)] = write();
    }
    b_.alias(name_of(graph_.outputs[0]), "logits");
    b_.add_output("logits", graph_.shape(graph_.outputs[0]));
    for (const auto& [key, value] : options_.metadata) {
      auto& entry = *b_.model().add_metadata_props();
      entry.set_key(key);
      entry.set_value(value);
    }
    return std::move(b_.model());
  }

 private:
  const Value& value(ValueId id) const { return graph_.values[static_cast<size_t>(id)]; }

  Name name_of(ValueId id) {
    Name& name = names_[static_cast<size_t>(id)];
    if (name.empty()) name = b_.floats(sizes(value(id).shape, 1), value(id).elements(), value(id).name);
    return name;
  }

  bool has(size_t i) const { return i < node_->inputs.size() && node_->inputs[i] != kNoValue; }
  Name in(size_t i) { return name_of(node_->inputs[i]); }
  const Shape& in_shape(size_t i) const { return graph_.shape(node_->inputs[i]); }
  const Shape& out_shape() const { return graph_.shape(node_->output); }

  Name write() {
    switch (node_->op) {
      case Op::linear:
        return linear();
      case Op::matmul:
        return b_.node("MatMul", {in(0), in(1)});
      case Op::conv2d:
        return conv2d();
      case Op::max_pool2d:
        return max_pool2d();
      case Op::layer_norm:
        return layer_norm();
      case Op::softmax:
        return b_.node("Softmax", {in(0)}, {{"axis", node_->as<Axis>().axis}});
      case Op::gelu:
        return gelu();
      case Op::sigmoid:
        return b_.node("Sigmoid", {in(0)});
      case Op::relu:
        return b_.node("Relu", {in(0)});
      case Op::add:
        return b_.node("Add", {in(0), in(1)});
      case Op::sub:
        return b_.node("Sub", {in(0), in(1)});
      case Op::mul:
        return b_.node("Mul", {in(0), in(1)});
      case Op::mean:
        return b_.node("ReduceMean", {in(0)}, {{"axes", node_->as<Axes>().axes}, {"keepdims", INT64_C(0)}});
      case Op::reshape:
        return reshape(in(0), out_shape());
      case Op::permute:
        return b_.node("Transpose", {in(0)}, {{"perm", node_->as<Permute>().order}});
      case Op::slice:
        return slice();
      case Op::concat:
        return concat();
      case Op::roll:
        return roll();
      case Op::expand:
        return b_.node("Expand", {in(0), extents(out_shape())});
      case Op::attention:
        return attention();
    }
    throw std::logic_error("an operator without a counterpart in ONNX");
  }

  /// ONNX finds the one extent that is left open itself.
  Name reshape(const Name& x, const Shape& shape) {
    std::vector<int64_t> target;
    target.reserve(shape.size());
    for (const Dim& d : shape) target.push_back(d.batched ? -1 : d.count);
    return b_.node("Reshape", {x, b_.integers(target)});
  }

  /// A shape as integers that are computed from the number of images.
  Name extents(const Shape& shape) {
    std::vector<Name> parts;
    for (const Dim& d : shape) {
      const Name count = b_.integers({d.count});
      parts.push_back(d.batched ? b_.node("Mul", {batch(), count}) : count);
    }
    return b_.node("Concat", parts, {{"axis", INT64_C(0)}});
  }

  Name batch() {
    if (batch_.empty()) batch_ = b_.node("Gather", {b_.node("Shape", {"images"}), b_.integers({0})});
    return batch_;
  }

  /// ONNX's product takes the weights the other way round.
  Name linear() {
    const Value& weight = value(node_->inputs[1]);
    if (!weight.constant()) throw std::runtime_error("a linear map whose weights are computed");
    const int64_t n = weight.shape[0].count, k = weight.shape[1].count;
    std::vector<float> turned(static_cast<size_t>(n * k));
    for (int64_t i = 0; i < n * k; ++i)
      turned[static_cast<size_t>(i % k * n + i / k)] = weight.elements()[static_cast<size_t>(i)];
    const Name product = b_.node("MatMul", {in(0), b_.floats({k, n}, turned, weight.name)});
    return has(2) ? b_.node("Add", {product, in(2)}) : product;
  }

  static std::vector<int64_t> both_sides(const std::array<int64_t, 2>& padding) {
    return {padding[0], padding[1], padding[0], padding[1]};
  }
  static std::vector<int64_t> list(const std::array<int64_t, 2>& pair) { return {pair.begin(), pair.end()}; }

  Name conv2d() {
    const auto& a = node_->as<Conv2d>();
    std::vector<Name> inputs{in(0), in(1)};
    if (has(2)) inputs.push_back(in(2));
    return b_.node("Conv", inputs, {{"strides", list(a.stride)}, {"pads", both_sides(a.padding)}, {"group", a.groups}});
  }

  Name max_pool2d() {
    const auto& a = node_->as<Pool2d>();
    return b_.node("MaxPool", {in(0)},
                   {{"kernel_shape", list(a.kernel)}, {"strides", list(a.stride)}, {"pads", both_sides(a.padding)}});
  }

  Name layer_norm() {
    const auto eps = static_cast<float>(node_->as<LayerNorm>().eps);
    if (b_.opset() >= 17)
      return b_.node("LayerNormalization", {in(0), in(1), in(2)}, {{"axis", INT64_C(-1)}, {"epsilon", eps}});
    const std::vector<OnnxAttribute> last{{"axes", std::vector<int64_t>{-1}}};
    const Name centered = b_.node("Sub", {in(0), b_.node("ReduceMean", {in(0)}, last)});
    const Name variance = b_.node("ReduceMean", {b_.node("Mul", {centered, centered})}, last);
    const Name deviation = b_.node("Sqrt", {b_.node("Add", {variance, b_.scalar(eps)})});
    return b_.node("Add", {b_.node("Mul", {b_.node("Div", {centered, deviation}), in(1)}), in(2)});
  }

  /// In the order of operators that runtimes know as GELU.
  Name gelu() {
    const Name erf = b_.node("Erf", {b_.node("Div", {in(0), b_.scalar(std::numbers::sqrt2_v<float>)})});
    const Name doubled = b_.node("Mul", {in(0), b_.node("Add", {erf, b_.scalar(1.0F)})});
    return b_.node("Mul", {doubled, b_.scalar(0.5F)});
  }

  Name cut(const Name& x, int64_t axis, int64_t begin, int64_t end) {
    return b_.node("Slice", {x, b_.integers({begin}), b_.integers({end}), b_.integers({axis})});
  }

  Name slice() {
    const auto& a = node_->as<Slice>();
    return cut(in(0), a.axis, a.begin, a.begin + out_shape()[static_cast<size_t>(a.axis)].count);
  }

  Name concat() {
    std::vector<Name> parts;
    for (size_t i = 0; i < node_->inputs.size(); ++i) parts.push_back(in(i));
    return b_.node("Concat", parts, {{"axis", node_->as<Axis>().axis}});
  }

  /// The end comes to the front.
  Name roll() {
    const auto& a = node_->as<Roll>();
    Name x = in(0);
    for (size_t i = 0; i < a.axes.size(); ++i) {
      const int64_t size = in_shape(0)[static_cast<size_t>(a.axes[i])].count;
      const int64_t shift = (a.shifts[i] % size + size) % size;
      if (shift == 0) continue;
      const Name front = cut(x, a.axes[i], size - shift, size), back = cut(x, a.axes[i], 0, size - shift);
      x = b_.node("Concat", {front, back}, {{"axis", a.axes[i]}});
    }
    return x;
  }

  Name attention() {
    const auto& a = node_->as<Attention>();
    OnnxAttentionInputs inputs = a.packed ? unpacked() : OnnxAttentionInputs{in(0), in(1), in(2), {}};
    const size_t bias = a.packed ? 1 : 3;
    if (has(bias)) {
      inputs.bias = in(bias);
      inputs.bias_shape = in_shape(bias);
      if (value(node_->inputs[bias]).constant()) inputs.bias_numbers = value(node_->inputs[bias]).elements();
    }
    const Name mixed = write_attention(b_, a, inputs, options_.attention);
    const Name by_token = b_.node("Transpose", {mixed}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    return reshape(by_token, out_shape());
  }

  /// qkv [n,T,3,H,d] as three tensors [n,H,T,d].
  OnnxAttentionInputs unpacked() {
    const Name apart = b_.node("Transpose", {in(0)}, {{"perm", std::vector<int64_t>{2, 0, 3, 1, 4}}});
    const auto part = [&](int32_t i) { return b_.node("Gather", {apart, b_.index(i)}, {{"axis", INT64_C(0)}}); };
    const Name q = part(0), k = part(1), v = part(2);
    return {q, k, v, {}};
  }

  const Graph& graph_;
  const OnnxOptions& options_;
  OnnxBuilder b_;
  std::vector<Name> names_;  // empty for constants that were not read yet
  const Node* node_ = nullptr;
  Name batch_;
};

}  // namespace

std::string to_onnx(const Graph& graph, const OnnxOptions& options) {
  if (options.opset < kFirstOpset || options.opset > kLastOpset)
    throw std::invalid_argument(fmt::format("opset must be {} to {}, got {}", kFirstOpset, kLastOpset, options.opset));
  const onnx::ModelProto model = Exporter(graph, options).run();
  try {
    onnx::checker::check_model(model);
  } catch (const std::exception& e) {
    throw std::runtime_error(fmt::format("ONNX's checker refuses the model: {}", e.what()));
  }
  return model.SerializeAsString();
}

void write_onnx(const Graph& graph, const std::filesystem::path& file, const OnnxOptions& options) {
  write_file_atomically(file, to_onnx(graph, options));
}

}  // namespace fib::engine
