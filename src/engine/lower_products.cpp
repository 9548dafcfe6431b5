// SPDX-License-Identifier: Apache-2.0
// Linear layers with what follows them, MLPs and products of two computed matrices.
#include <algorithm>
#include <stdexcept>

#include "engine/lowerer.h"

namespace fib::engine {
namespace {

/// Rows of an MLP that are carried through at a time: their hidden activations, 4.7 MB at 3072 channels, stay in the
/// last-level cache, and a product has rows enough to be fast.
constexpr int64_t kMlpRows = 384;

}  // namespace

Lowerer::Fused Lowerer::fuse(ValueId output, std::initializer_list<Op> functions) {
  Fused fused{output, Function::none, std::nullopt};
  const auto next = sole_consumer(output);
  if (!next) return fused;
  const Op op = graph_.nodes[*next].op;
  if (std::ranges::find(functions, op) == functions.end()) return fused;
  done_[*next] = true;
  return {graph_.nodes[*next].output, function_named(name_of(op)), std::nullopt};
}

void Lowerer::fuse_residual(Fused& fused) {
  const auto next = sole_consumer(fused.output);
  if (!next || graph_.nodes[*next].op != Op::add) return;
  const Node& add = graph_.nodes[*next];
  const ValueId other = add.inputs[0] == fused.output ? add.inputs[1] : add.inputs[0];
  if (shape(other) != shape(fused.output)) return;
  if (!constant(other) && !views_[static_cast<size_t>(other)]) return;
  const auto rows = rows_of(view(other));
  if (!rows) return;
  fused.residual = *rows, fused.output = add.output;
  done_[*next] = true;
}

Operand Lowerer::bias_of(const Node& node) {
  if (node.inputs.size() < 3 || node.inputs[2] == kNoValue) return {};
  if (!constant(node.inputs[2])) throw std::invalid_argument("a layer's bias must be constant");
  return floats(name(node.inputs[2]), padded_columns(value(node.inputs[2]).elements()));
}

Lowerer::Layer Lowerer::layer_of(const Node& node, int64_t rows) {
  if (!constant(node.inputs[1])) throw std::invalid_argument("a linear layer's weights must be constant");
  const std::vector<int64_t> weight = shape(node.inputs[1]);
  Layer layer{{}, {}, bias_of(node), weight[0], weight[1]};
  pack_layer(layer, name(node.inputs[1]), value(node.inputs[1]).elements(), precision_for(rows, weight[1]));
  return layer;
}

void Lowerer::pack_layer(Layer& layer, const std::string& called, std::span<const float> values, Precision precision) {
  const auto keep = [&](TensorType type, std::span<const std::byte> bytes) {
    return tensor(tensors_.add(called, type, {bytes.begin(), bytes.end()}), type);
  };
  if (precision == Precision::int8) {
    const PackedInt8 packed = pack_int8(values, layer.columns, layer.depth);
    layer.weights = keep(TensorType::i8, std::as_bytes(std::span(packed.weights)));
    layer.scale = floats(called + ".scale", packed.columns);
  } else if (precision == Precision::bf16) {
    const std::vector<Bfloat16> packed = pack_bfloat16(values, layer.columns, layer.depth);
    layer.weights = keep(TensorType::bf16, std::as_bytes(std::span(packed)));
  } else {
    layer.weights = floats(called, pack_weights(values, layer.columns, layer.depth));
  }
}

Precision Lowerer::precision_for(int64_t rows, int64_t depth) const {
  const bool can = precision_ != Precision::int8 || depth <= kMaxInt8Depth;
  return (rows > 1 || program_.tokens() > 0) && can ? precision_ : Precision::f32;
}

bool Lowerer::leave_norm_to_linear(size_t n) {
  const Node& norm = graph_.nodes[n];
  const auto next = sole_consumer(norm.output);
  if (!next || graph_.nodes[*next].op != Op::linear || graph_.nodes[*next].inputs[0] != norm.output) return false;
  const std::vector<int64_t> sides = shape(norm.output);
  const int64_t depth = sides.back(), rows = product_of(sides) / depth;
  if (precision_for(rows, depth) == Precision::f32 || !constant(norm.inputs[1]) || !constant(norm.inputs[2]))
    return false;
  norms_[norm.output] = n;
  return true;
}

Lowerer::Input Lowerer::input_of(const Node& node) {
  const auto norm = norms_.find(node.inputs[0]);
  if (norm == norms_.end()) return {as_rows(view(node.inputs[0]))};
  const Node& of = graph_.nodes[norm->second];
  return {as_rows(view(of.inputs[0])), &of};
}

void Lowerer::add_linear(const Layer& layer, const Input& input, const Fused& fused, const Operand& out) {
  Step& s = add_step(StepKind::linear);
  s.at(Role::x) = input.x, s.at(Role::weights) = layer.weights, s.at(Role::scale) = layer.scale;
  s.at(Role::bias) = layer.bias, s.at(Role::out) = out;
  if (input.norm != nullptr) {
    s.at(Role::norm_weights) = view(input.norm->inputs[1]), s.at(Role::norm_bias) = view(input.norm->inputs[2]);
    s.attributes = input.norm->as<LayerNorm>();
  }
  if (fused.residual) s.at(Role::residual) = *fused.residual;
  s.function = fused.function;
  add_scratch(s);
}

void Lowerer::lower_linear(size_t n) {
  const Node& node = graph_.nodes[n];
  const Input input = input_of(node);
  const int64_t rows = input.x.sizes[0];
  const Layer layer = layer_of(node, rows);
  Fused fused = fuse_activation(node.output);
  const auto next = sole_consumer(fused.output);
  if (fused.function == Function::gelu && next && graph_.nodes[*next].op == Op::linear &&
      graph_.nodes[*next].inputs[0] == fused.output)
    return lower_mlp(input, layer, fused, *next);
  fuse_residual(fused);
  const Operand out = fresh({rows, layer.columns});
  add_linear(layer, input, fused, out);
  set(fused.output, dense(out.buffer, shape(fused.output)));
}

void Lowerer::lower_mlp(const Input& input, const Layer& first, const Fused& hidden_epilogue, size_t n) {
  const Node& node = graph_.nodes[n];
  done_[n] = true;
  const int64_t rows = input.x.sizes[0], blocks = (rows + kMlpRows - 1) / kMlpRows;
  const int64_t block = std::min(rows, ((rows + blocks - 1) / blocks + 15) / 16 * 16);
  const Layer second = layer_of(node, rows);
  Fused fused = fuse_activation(node.output);
  fuse_residual(fused);
  // Rows that lie a multiple of 4 KB apart would share the lines of the first-level cache.
  const int64_t stride = first.columns % 1024 == 0 ? first.columns + kPanelColumns : first.columns;
  const int32_t hidden = arena(block * stride);
  const Operand out = fresh({rows, second.columns});
  const Operand middle{hidden, 0, {block, first.columns}, {stride, 1}};
  add_linear(first, {first_block(input.x, block), input.norm}, hidden_epilogue, middle);
  Fused part = fused;
  if (part.residual) part.residual = first_block(*part.residual, block);
  add_linear(second, {middle}, part, first_block(out, block));
  if (block < rows) make_row_blocks(2, {rows, block});
  set(fused.output, dense(out.buffer, shape(fused.output)));
}

void Lowerer::lower_matmul(const Node& node) {
  const std::vector<int64_t> to = shape(node.output);
  const auto stretched = [&](const Operand& o) {
    std::vector<int64_t> target(to.begin(), to.end() - 2);
    target.insert(target.end(), o.sizes.end() - 2, o.sizes.end());
    return broadcast(o, target);
  };
  const Operand x = stretched(with_dense_rows(view(node.inputs[0]))), y = stretched(view(node.inputs[1]));
  const Operand out = fresh(to);
  Step& s = add_step(StepKind::matmul);
  s.at(Role::x) = x, s.at(Role::y) = y, s.at(Role::out) = out;
  set(node.output, out);
}

}  // namespace fib::engine
