// SPDX-License-Identifier: Apache-2.0
// The state of a lowering: the program so far, and where the values of the graph are in it. What an operator becomes
// stands in its file of operators/, linear layers with what they take along in lower_products.cpp.
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

  /// What follows a product and becomes its epilogue.
  struct Fused {
    ValueId output;  ///< of the last node that was taken along
    Function function = Function::none;
    std::optional<Operand> residual;
  };

  // ---- Buffers and values
  /// A new array with dense rows.
  Operand fresh(const std::vector<int64_t>& shape);
  /// A new array of this shape whose dimensions lie in memory in the same order as those of `o`.
  Operand fresh_like(const Operand& o, const std::vector<int64_t>& shape);
  /// An array that is kept from call to call, the same one in all programs that ask in the same order.
  Operand state(const std::vector<int64_t>& shape);
  /// Numbers that the file will hold.
  Operand floats(const std::string& called, std::span<const float> values);

  const Graph& graph() const { return graph_; }
  const Node& node(size_t n) const { return graph_.nodes[n]; }
  /// For one sample.
  std::vector<int64_t> shape(ValueId id) const { return sizes(graph_.shape(id), 1); }
  const Value& value(ValueId id) const { return graph_.values[static_cast<size_t>(id)]; }
  bool constant(ValueId id) const { return id != kNoValue && value(id).constant(); }
  std::string name(ValueId id) const;
  /// Where a value lies that has been computed or is constant.
  Operand view(ValueId id);
  void set(ValueId id, Operand o) { views_[static_cast<size_t>(id)] = std::move(o); }

  // ---- Steps
  Step& add_step(StepKind kind);
  void add_scratch(Step& s);
  /// The last steps, which carry out the first block of rows, carry out all blocks.
  void make_row_blocks(size_t steps, const RowBlocks& blocks) { wrap_last(steps, StepKind::row_blocks, blocks); }
  void copy(const Operand& from, const Operand& to);
  Operand copied(const Operand& o);
  /// With consecutive values along the last dimension.
  Operand with_dense_rows(const Operand& o);
  /// As a matrix whose rows are consecutive values.
  Operand as_rows(const Operand& o);

  // ---- Products and convolutions
  /// The only node that reads a value, if no other does.
  std::optional<size_t> sole_consumer(ValueId id) const;
  /// Takes the next node along if it is one of these functions, and the only one that reads this.
  Fused fuse(ValueId output, std::initializer_list<Op> functions);
  Fused fuse_activation(ValueId output) { return fuse(output, {Op::gelu, Op::relu}); }
  /// The bias of a linear layer or convolution; not given where it has none.
  Operand bias_of(const Node& node);
  void lower_linear(size_t n);
  /// Whether a layer norm is carried out row by row with the linear layer of low precision that reads it.
  bool leave_norm_to_linear(size_t n);
  void lower_matmul(const Node& node);

 private:
  /// The packed weights of a linear layer.
  struct Layer {
    Operand weights, scale, bias;
    int64_t columns, depth;
  };
  /// What a linear layer reads: rows, and the layer norm that they go through first.
  struct Input {
    Operand x;
    const Node* norm = nullptr;
  };

  /// The last steps become the body of one.
  void wrap_last(size_t steps, StepKind kind, Attributes attributes);
  void begin_loop();
  void end_loop();
  bool ends_run(ValueId id) const;

  int32_t add_buffer(Buffer buffer);
  int32_t arena(int64_t elements);
  Operand tensor(const std::string& stored, TensorType type);
  void open_input();
  void write_output();

  /// x + product, where x has been computed and lies in rows.
  void fuse_residual(Fused& fused);
  Input input_of(const Node& node);
  /// Low precision is for layers with many rows: a classifier of images stays in float32. What decoders take is time to
  /// read the weights.
  Precision precision_for(int64_t rows, int64_t depth) const;
  Layer layer_of(const Node& node, int64_t rows);
  /// The weights, and of int8 the scale.
  void pack_layer(Layer& layer, const std::string& called, std::span<const float> values, Precision precision);
  void add_linear(const Layer& layer, const Input& input, const Fused& fused, const Operand& out);
  void lower_mlp(const Input& input, const Layer& first, const Fused& hidden_epilogue, size_t n);

  const Graph& graph_;
  Precision precision_;
  TensorStore& tensors_;
  Program program_;
  std::vector<std::optional<Operand>> views_;   ///< of values that are computed already
  std::vector<std::vector<size_t>> consumers_;  ///< nodes that read a value
  std::vector<bool> done_;                      ///< nodes that became part of another step
  std::map<ValueId, size_t> norms_;             ///< left to linear layers, by their output
  std::map<ValueId, Operand> constants_;        ///< as they are, not packed
  std::map<std::string, int32_t> tensor_buffers_;
  size_t loop_begin_ = 0;  ///< the loop's first step
  bool in_loop_ = false;
};

}  // namespace fib::engine
