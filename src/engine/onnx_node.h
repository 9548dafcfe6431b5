// SPDX-License-Identifier: Apache-2.0
// A graph's node on its way into an ONNX file, as an operator sees it: without ONNX's messages.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "engine/graph.h"

namespace fib::engine {

/// Of a tensor in the ONNX graph.
using OnnxName = std::string;

struct OnnxAttribute {
  const char* name;
  std::variant<int64_t, float, std::vector<int64_t>> value;
};

/// How attention on a support set is written. Gathers name the keys of every query; a mask names all pairs, as a dense
/// product is computed and what is outside the support left out.
enum class AttentionForm { smaller, gather, mask };

/// How a graph is written.
struct OnnxForm {
  AttentionForm attention = AttentionForm::smaller;
  bool int8 = false;  ///< linear layers of more than one row multiply bytes
};

/// Where nodes and constants are written.
class OnnxWriter {
 public:
  OnnxWriter() = default;
  OnnxWriter(const OnnxWriter&) = delete;
  OnnxWriter& operator=(const OnnxWriter&) = delete;
  virtual ~OnnxWriter() = default;

  virtual int64_t opset() const = 0;
  virtual std::vector<OnnxName> node_with_outputs(const char* type, const std::vector<OnnxName>& inputs, size_t outputs,
                                                  const std::vector<OnnxAttribute>& attributes) = 0;
  // Constants; equal ones are held once.
  virtual OnnxName floats(const std::vector<int64_t>& sizes, std::span<const float> numbers,
                          const std::string& name) = 0;
  virtual OnnxName integers(const std::vector<int64_t>& numbers) = 0;
  virtual OnnxName indices(const std::vector<int64_t>& sizes, std::span<const int32_t> numbers,
                           const std::string& name) = 0;
  virtual OnnxName signed_bytes(const std::vector<int64_t>& sizes, std::span<const int8_t> numbers,
                                const std::string& name) = 0;
  virtual OnnxName booleans(const std::vector<int64_t>& sizes, std::span<const uint8_t> numbers,
                            const std::string& name) = 0;
  /// Throws where constants of so many more bytes make a file that ONNX cannot hold; asked before they are made.
  virtual void require_room(int64_t bytes) const = 0;
};

/// The node at hand, and what operators write with. One object walks through a graph.
class OnnxNode {
 public:
  OnnxNode(const Graph& graph, const OnnxForm& form, OnnxWriter& writer);

  // ---- The walk
  void set_name(ValueId id, const OnnxName& name) { names_[static_cast<size_t>(id)] = name; }
  OnnxName name_of(ValueId id);
  /// Writes a node of the graph.
  void write(const Node& node);

  // ---- What the node is
  template <class T>
  const T& as() const {
    return node_->as<T>();
  }
  size_t inputs() const { return node_->inputs.size(); }
  bool has(size_t i) const { return i < inputs() && node_->inputs[i] != kNoValue; }
  OnnxName in(size_t i) { return name_of(node_->inputs[i]); }
  const Value& value(size_t i) const { return graph_.values[static_cast<size_t>(node_->inputs[i])]; }
  const Shape& in_shape(size_t i) const { return value(i).shape; }
  const Shape& out_shape() const { return graph_.shape(node_->output); }
  const OnnxForm& form() const { return form_; }

  // ---- What is written for it
  OnnxWriter& writer() { return writer_; }
  /// The output of a new node.
  OnnxName node(const char* type, const std::vector<OnnxName>& inputs,
                const std::vector<OnnxAttribute>& attributes = {}) {
    return writer_.node_with_outputs(type, inputs, 1, attributes).front();
  }
  OnnxName floats(const std::vector<int64_t>& sizes, std::span<const float> numbers, const std::string& name = "") {
    return writer_.floats(sizes, numbers, name);
  }
  OnnxName scalar(float number) { return floats({}, {&number, 1}); }
  OnnxName integers(const std::vector<int64_t>& numbers) { return writer_.integers(numbers); }
  /// Input i in eight bits, written once however often it is read.
  struct Quantized {
    OnnxName values, scale, zero;
  };
  Quantized quantized(size_t i);
  OnnxName index(int32_t number) { return writer_.indices({}, {&number, 1}, ""); }
  OnnxName softmax(const OnnxName& x, int64_t axis) { return node("Softmax", {x}, {{"axis", axis}}); }
  OnnxName reshape(const OnnxName& x, const std::vector<int64_t>& sizes) {
    return node("Reshape", {x, integers(sizes)});
  }
  OnnxName reshape(const OnnxName& x, const Shape& shape);
  OnnxName cut(const OnnxName& x, int64_t axis, int64_t begin, int64_t end);
  /// A shape as numbers, computed from the number of images where it depends on it.
  OnnxName extents(const Shape& shape);

 private:
  OnnxName batch();

  const Graph& graph_;
  OnnxForm form_;
  OnnxWriter& writer_;
  std::vector<OnnxName> names_;  // empty for constants that were not read yet
  std::map<ValueId, Quantized> quantized_;
  const Node* node_ = nullptr;
  OnnxName batch_;
};

}  // namespace fib::engine
