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

Lowerer::Fused Lowerer::fuse_activation(ValueId output) {
  Fused fused{output, Function::none, std::nullopt};
  const auto next = sole_consumer(output);
  if (!next) return fused;
  const Op op = graph_.nodes[*next].op;
  if (op != Op::gelu && op != Op::relu) return fused;
  done_[*next] = true;
  return {graph_.nodes[*next].output, op == Op::gelu ? Function::gelu : Function::relu, std::nullopt};
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
  pack_layer(layer, name(node.inputs[1]), value(node.inputs[1]).elements(), rows > 1 ? precision_ : Precision::f32);
  return layer;
}

void Lowerer::pack_layer(Layer& layer, const std::string& called, std::span<const float> values, Precision precision) {
  const auto keep = [&](TensorType type, std::span<const std::byte> bytes) {
    return tensor(tensors_.add(called, type, {bytes.begin(), bytes.end()}), type);
  };
  if (precision == Precision::int8 && layer.depth <= kMaxInt8Depth) {
    const PackedInt8 packed = pack_int8(values, layer.columns, layer.depth);
    layer.weights = keep(TensorType::i8, std::as_bytes(std::span(packed.weights)));
    layer.scale = floats(called + ".scale", packed.column_scale);
  } else if (precision == Precision::bf16) {
    const std::vector<Bfloat16> packed = pack_bfloat16(values, layer.columns, layer.depth);
    layer.weights = keep(TensorType::bf16, std::as_bytes(std::span(packed)));
  } else {
    layer.weights = floats(called, pack_weights(values, layer.columns, layer.depth));
  }
}

void Lowerer::add_linear(const Layer& layer, const Operand& x, const Fused& fused, const Operand& out) {
  Step& s = add_step(StepKind::linear);
  s.at(Role::x) = x, s.at(Role::weights) = layer.weights, s.at(Role::scale) = layer.scale;
  s.at(Role::bias) = layer.bias, s.at(Role::out) = out;
  if (fused.residual) s.at(Role::residual) = *fused.residual;
  s.function = fused.function;
  add_scratch(s);
}

void Lowerer::lower_linear(size_t n) {
  const Node& node = graph_.nodes[n];
  const Operand x = as_rows(view(node.inputs[0]));
  const Layer layer = layer_of(node, x.sizes[0]);
  Fused fused = fuse_activation(node.output);
  const auto next = sole_consumer(fused.output);
  if (fused.function == Function::gelu && next && graph_.nodes[*next].op == Op::linear &&
      graph_.nodes[*next].inputs[0] == fused.output)
    return lower_mlp(x, layer, fused, *next);
  fuse_residual(fused);
  const Operand out = fresh({x.sizes[0], layer.columns});
  add_linear(layer, x, fused, out);
  set(fused.output, dense(out.buffer, shape(fused.output)));
}

void Lowerer::lower_mlp(const Operand& x, const Layer& first, const Fused& hidden_tail, size_t n) {
  const Node& node = graph_.nodes[n];
  done_[n] = true;
  const int64_t rows = x.sizes[0], blocks = (rows + kMlpRows - 1) / kMlpRows;
  const int64_t block = std::min(rows, ((rows + blocks - 1) / blocks + 11) / 12 * 12);
  const Layer second = layer_of(node, rows);
  Fused fused = fuse_activation(node.output);
  fuse_residual(fused);
  // Rows that lie a multiple of 4 KB apart would share the lines of the first-level cache.
  const int64_t stride = first.columns % 1024 == 0 ? first.columns + kPanelColumns : first.columns;
  const int32_t hidden = arena(block * stride);
  const Operand out = fresh({rows, second.columns});
  for (int64_t row = 0; row < rows; row += block) {
    const int64_t now = std::min(block, rows - row);
    const Operand middle{hidden, 0, {now, first.columns}, {stride, 1}};
    add_linear(first, rows_from(x, row, now), hidden_tail, middle);
    Fused part = fused;
    if (part.residual) part.residual = rows_from(*part.residual, row, now);
    add_linear(second, middle, part, rows_from(out, row, now));
  }
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
