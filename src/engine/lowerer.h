// SPDX-License-Identifier: Apache-2.0
// The state of a lowering: the program so far, and where the values of the graph are in it. lower.cpp has the ends,
// views and attention, lower_products.cpp linear layers with what they take along, lower_windows.cpp convolutions.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/lower.h"
#include "engine/view.h"

namespace fib::engine {

class Lowerer {
 public:
  Lowerer(const Graph& graph, Precision precision, TensorStore& tensors);
  Program run();

 private:
  /// What follows a product and becomes its tail.
  struct Fused {
    ValueId output;  ///< of the last node that was taken along
    Function function = Function::none;
    std::optional<Operand> residual;
  };
  /// The packed weights of a linear layer.
  struct Layer {
    Operand weights, scale, bias;
    int64_t columns, depth;
  };

  // ---- Buffers and values
  int32_t add_buffer(Buffer buffer);
  int32_t arena(int64_t elements);
  /// A new array with dense rows.
  Operand fresh(const std::vector<int64_t>& shape);
  /// A new array of this shape whose dimensions lie in memory in the same order as those of `o`.
  Operand fresh_like(const Operand& o, const std::vector<int64_t>& shape);
  Operand tensor(const std::string& stored, TensorType type);
  Operand floats(const std::string& called, std::span<const float> values);

  std::vector<int64_t> shape(ValueId id) const { return sizes(graph_.shape(id), 1); }
  const Value& value(ValueId id) const { return graph_.values[static_cast<size_t>(id)]; }
  bool constant(ValueId id) const { return id != kNoValue && value(id).constant(); }
  std::string name(ValueId id) const;
  Operand view(ValueId id);
  void set(ValueId id, Operand o) { views_[static_cast<size_t>(id)] = std::move(o); }

  // ---- Steps
  Step& add_step(StepKind kind);
  void add_scratch(Step& s);
  void copy(const Operand& from, const Operand& to);
  Operand copied(const Operand& o);
  /// With consecutive values along the last dimension.
  Operand with_dense_rows(const Operand& o);
  /// As a matrix whose rows are consecutive values.
  Operand as_rows(const Operand& o);

  // ---- The ends
  void open_input();
  void write_output();

  // ---- Nodes
  void lower(size_t n);
  /// The only node that reads a value, if nobody else does.
  std::optional<size_t> sole_consumer(ValueId id) const;

  Fused fuse_activation(ValueId output);
  /// x + product, where x has been computed and lies in rows.
  void fuse_residual(Fused& fused);
  /// Low precision is for layers with many rows: a classifier stays in float32.
  Layer layer_of(const Node& node, int64_t rows);
  /// The weights, and of int8 the scale.
  void pack_layer(Layer& layer, const std::string& called, std::span<const float> values, Precision precision);
  /// The bias of a linear layer or convolution; not given where it has none.
  Operand bias_of(const Node& node);
  void add_linear(const Layer& layer, const Operand& x, const Fused& fused, const Operand& out);
  void lower_linear(size_t n);
  void lower_mlp(const Operand& x, const Layer& first, const Fused& hidden_tail, size_t n);
  void lower_matmul(const Node& node);

  void lower_conv(size_t n);
  void lower_pool(const Node& node);

  void lower_norm(const Node& node);
  void lower_softmax(const Node& node);
  void lower_unary(const Node& node, Function function);
  void lower_binary(const Node& node, Function function);
  void lower_mean(const Node& node);

  void lower_reshape(const Node& node);
  void lower_slice(const Node& node);
  void lower_concat(const Node& node);
  void lower_roll(const Node& node);
  /// Along each axis two parts change places.
  void copy_rolled(const Operand& from, const Operand& to, const Roll& roll, size_t i);

  void lower_attention(const Node& node);

  const Graph& graph_;
  Precision precision_;
  TensorStore& tensors_;
  Program program_;
  std::vector<std::optional<Operand>> views_;   ///< of values that are computed already
  std::vector<std::vector<size_t>> consumers_;  ///< nodes that read a value
  std::vector<bool> done_;                      ///< nodes that became part of another step
  std::map<ValueId, Operand> constants_;        ///< as they are, not packed
  std::map<std::string, int32_t> tensor_buffers_;
};

}  // namespace fib::engine
