// SPDX-License-Identifier: Apache-2.0
#include "engine/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "engine/view.h"

namespace fib::engine {
namespace {

/// Rows of an MLP that are carried through at a time: their hidden activations, 4.7 MB at 3072 channels, stay in the
/// last-level cache, and a product has rows enough to be fast.
constexpr int64_t kMlpRows = 384;

class Lowerer {
 public:
  Lowerer(const Graph& graph, Precision precision, TensorStore& tensors)
      : graph_(graph),
        precision_(precision),
        tensors_(tensors),
        views_(graph.values.size()),
        consumers_(graph.values.size()),
        done_(graph.nodes.size()) {
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const ValueId id : graph.nodes[n].inputs) {
        if (id != kNoValue) consumers_[static_cast<size_t>(id)].push_back(n);
      }
    }
  }

  Program run() {
    open_input();
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!done_[n]) lower(n);
    }
    write_output();
    plan_arena(program_);
    check_program(program_);
    return std::move(program_);
  }

 private:
  const Graph& graph_;
  Precision precision_;
  TensorStore& tensors_;
  Program program_;
  std::vector<std::optional<Operand>> views_;   ///< of values that are computed already
  std::vector<std::vector<size_t>> consumers_;  ///< nodes that read a value
  std::vector<bool> done_;                      ///< nodes that became part of another step
  std::map<ValueId, Operand> constants_;        ///< as they are, not packed
  std::map<std::string, int32_t> tensor_buffers_;

  // ---- Buffers and values ----

  int32_t add_buffer(Buffer buffer) {
    program_.buffers.push_back(std::move(buffer));
    return static_cast<int32_t>(program_.buffers.size() - 1);
  }
  int32_t arena(int64_t elements) { return add_buffer({Buffer::Kind::arena, elements, 0, {}, TensorType::f32}); }
  /// A new array with dense rows.
  Operand fresh(const std::vector<int64_t>& shape) { return dense(arena(product_of(shape)), shape); }
  /// A new array of the same shape whose dimensions lie in memory in the same order.
  Operand fresh_like(const Operand& o, const std::vector<int64_t>& shape) {
    return dense_in_order(arena(product_of(shape)), shape,
                          o.sizes.size() == shape.size() ? o.strides : dense(0, shape).strides);
  }

  std::vector<int64_t> shape(ValueId id) const { return sizes(graph_.shape(id), 1); }
  const Value& value(ValueId id) const { return graph_.values[static_cast<size_t>(id)]; }
  bool constant(ValueId id) const { return id != kNoValue && value(id).constant(); }
  std::string name(ValueId id) const {
    return value(id).name.empty() ? fmt::format("constant.{}", id) : value(id).name;
  }

  Operand tensor(const std::string& stored, TensorType type) {
    const auto [place, is_new] = tensor_buffers_.try_emplace(stored, 0);
    const int64_t elements = tensors_.elements(stored);
    if (is_new) place->second = add_buffer({Buffer::Kind::tensor, elements, 0, stored, type});
    return dense(place->second, {elements});
  }
  Operand floats(const std::string& called, std::span<const float> values) {
    return tensor(tensors_.add(called, values), TensorType::f32);
  }

  Operand view(ValueId id) {
    if (!constant(id)) return *views_[static_cast<size_t>(id)];
    auto [place, is_new] = constants_.try_emplace(id);
    if (is_new) place->second = dense(floats(name(id), value(id).elements()).buffer, shape(id));
    return place->second;
  }
  void set(ValueId id, Operand o) { views_[static_cast<size_t>(id)] = std::move(o); }

  Step& add_step(StepKind kind) {
    program_.steps.emplace_back().kind = kind;
    return program_.steps.back();
  }
  void copy(const Operand& from, const Operand& to) {
    Step& s = add_step(StepKind::copy);
    s.at(Role::x) = from, s.at(Role::out) = to;
  }
  Operand copied(const Operand& o) {
    Operand to = fresh(o.sizes);
    copy(o, to);
    return to;
  }
  /// With consecutive values along the last dimension.
  Operand with_dense_rows(const Operand& o) { return o.sizes.back() == 1 || o.strides.back() == 1 ? o : copied(o); }
  /// As a matrix whose rows are consecutive values.
  Operand as_rows(const Operand& o) {
    if (const auto rows = rows_of(o)) return *rows;
    return *rows_of(copied(o));
  }

  // ---- The ends ----

  void open_input() {
    const std::vector<int64_t> image = shape(graph_.inputs.at(0));
    if (image.size() != 4 || image[0] != 1) throw std::invalid_argument("a model must take images [B,C,h,w]");
    program_.channels = image[1], program_.height = image[2], program_.width = image[3];
    set(graph_.inputs[0], dense(add_buffer({Buffer::Kind::input, product_of(image), 0, {}, TensorType::f32}), image));
  }

  void write_output() {
    const Operand logits = view(graph_.outputs.at(0));
    program_.classes = logits.elements();
    copy(logits, dense(add_buffer({Buffer::Kind::output, program_.classes, 0, {}, TensorType::f32}), logits.sizes));
  }

  // ---- Nodes ----

  void lower(size_t n) {
    const Node& node = graph_.nodes[n];
    switch (node.op) {
      case Op::linear:
        return lower_linear(n);
      case Op::matmul:
        return lower_matmul(node);
      case Op::conv2d:
        return lower_conv(n);
      case Op::max_pool2d:
        return lower_pool(node);
      case Op::layer_norm:
        return lower_norm(node);
      case Op::softmax:
        return lower_softmax(node);
      case Op::gelu:
        return lower_unary(node, Function::gelu);
      case Op::sigmoid:
        return lower_unary(node, Function::sigmoid);
      case Op::relu:
        return lower_unary(node, Function::relu);
      case Op::add:
        return lower_binary(node, Function::add);
      case Op::sub:
        return lower_binary(node, Function::subtract);
      case Op::mul:
        return lower_binary(node, Function::multiply);
      case Op::mean:
        return lower_mean(node);
      case Op::reshape:
        return lower_reshape(node);
      case Op::permute:
        return set(node.output, permuted(view(node.inputs[0]), node.as<Permute>().order));
      case Op::slice:
        return lower_slice(node);
      case Op::concat:
        return lower_concat(node);
      case Op::roll:
        return lower_roll(node);
      case Op::expand:
        return set(node.output, broadcast(view(node.inputs[0]), shape(node.output)));
      case Op::attention:
        return lower_attention(node);
    }
    throw std::invalid_argument(fmt::format("{} has no step", name_of(node.op)));
  }

  /// The only node that reads a value, if nobody else does.
  std::optional<size_t> sole_consumer(ValueId id) const {
    const auto& readers = consumers_[static_cast<size_t>(id)];
    const bool is_output = std::ranges::find(graph_.outputs, id) != graph_.outputs.end();
    return readers.size() == 1 && !is_output ? std::optional(readers[0]) : std::nullopt;
  }

  /// What follows a product and becomes its tail.
  struct Fused {
    ValueId output;
    Function function = Function::none;
    std::optional<Operand> residual;
  };

  Fused fuse_activation(ValueId output) {
    Fused fused{output, Function::none, std::nullopt};
    const auto next = sole_consumer(output);
    if (!next) return fused;
    const Op op = graph_.nodes[*next].op;
    if (op != Op::gelu && op != Op::relu) return fused;
    done_[*next] = true;
    return {graph_.nodes[*next].output, op == Op::gelu ? Function::gelu : Function::relu, std::nullopt};
  }

  /// x + product, where x has been computed and lies in rows.
  void fuse_residual(Fused& fused) {
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

  // ---- Products ----

  struct Layer {
    Operand weights, scale, bias;
    int64_t columns, depth;
  };

  /// Packed. int8 is for layers with many rows: a classifier stays in float32.
  Layer layer_of(const Node& node, int64_t rows) {
    const std::vector<int64_t> weight = shape(node.inputs[1]);
    if (!constant(node.inputs[1]) ||
        (node.inputs.size() > 2 && node.inputs[2] != kNoValue && !constant(node.inputs[2])))
      throw std::invalid_argument("a linear layer's weights must be constant");
    Layer layer{{}, {}, {}, weight[0], weight[1]};
    const std::string called = name(node.inputs[1]);
    const auto values = value(node.inputs[1]).elements();
    if (precision_ == Precision::int8 && rows > 1 && layer.depth <= kMaxInt8Depth) {
      const PackedInt8 packed = pack_int8(values, layer.columns, layer.depth);
      std::vector<std::byte> bytes(packed.weights.size());
      std::memcpy(bytes.data(), packed.weights.data(), bytes.size());
      layer.weights = tensor(tensors_.add(called, TensorType::i8, std::move(bytes)), TensorType::i8);
      layer.scale = floats(called + ".scale", packed.column_scale);
    } else {
      layer.weights = floats(called, pack_weights(values, layer.columns, layer.depth));
    }
    if (node.inputs.size() > 2 && node.inputs[2] != kNoValue)
      layer.bias = floats(name(node.inputs[2]), padded_columns(value(node.inputs[2]).elements()));
    return layer;
  }

  void add_linear(const Layer& layer, const Operand& x, const Fused& fused, const Operand& out) {
    Step& s = add_step(StepKind::linear);
    s.at(Role::x) = x, s.at(Role::weights) = layer.weights, s.at(Role::scale) = layer.scale;
    s.at(Role::bias) = layer.bias, s.at(Role::out) = out;
    if (fused.residual) s.at(Role::residual) = *fused.residual;
    s.function = fused.function;
    add_scratch(s);
  }

  void add_scratch(Step& s) {
    const int64_t elements = scratch_elements(s);
    if (elements > 0) s.at(Role::scratch) = dense(arena(elements), {elements});
  }

  void lower_linear(size_t n) {
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

  void lower_mlp(const Operand& x, const Layer& first, const Fused& hidden_tail, size_t n) {
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

  void lower_matmul(const Node& node) {
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

  // ---- Windows ----

  /// [n,h,w,C] in memory; what others see is [n,C,h,w].
  Operand fresh_image(const std::vector<int64_t>& s) { return fresh({s[0], s[2], s[3], s[1]}); }
  static Operand as_channels_first(const Operand& o) { return permuted(o, {0, 3, 1, 2}); }

  void lower_conv(size_t n) {
    const Node& node = graph_.nodes[n];
    const auto& c = node.as<Conv2d>();
    const std::vector<int64_t> w = shape(node.inputs[1]);
    const Operand x = view(node.inputs[0]);
    const bool depthwise = c.groups == x.sizes[1] && w[0] == c.groups && c.groups > 1;
    const Fused fused = depthwise ? Fused{node.output, Function::none, std::nullopt} : fuse_activation(node.output);
    const Operand out = fresh_image(shape(node.output));
    Step s;
    s.kind = depthwise ? StepKind::depthwise : StepKind::conv2d;
    s.window = {{w[2], w[3]}, c.stride, c.padding, c.groups};
    s.function = fused.function;
    s.at(Role::x) = x, s.at(Role::out) = out;
    const auto weights = value(node.inputs[1]).elements();
    s.at(Role::weights) = floats(name(node.inputs[1]), depthwise ? by_tap(weights, w) : packed_groups(weights, w, c));
    if (node.inputs.size() > 2 && node.inputs[2] != kNoValue)
      s.at(Role::bias) = floats(name(node.inputs[2]), padded_columns(value(node.inputs[2]).elements()));
    add_scratch(s);
    program_.steps.push_back(std::move(s));
    set(fused.output, as_channels_first(out));
  }

  /// weight [C,1,kh,kw] as [kh,kw,C].
  static std::vector<float> by_tap(std::span<const float> weights, const std::vector<int64_t>& w) {
    const auto channels = static_cast<size_t>(w[0]), taps = static_cast<size_t>(w[2] * w[3]);
    std::vector<float> turned(weights.size());
    for (size_t c = 0; c < channels; ++c) {
      for (size_t t = 0; t < taps; ++t) turned[t * channels + c] = weights[c * taps + t];
    }
    return turned;
  }

  /// weight [D,C/groups,kh,kw]: the matrix of each group, packed.
  static std::vector<float> packed_groups(std::span<const float> weights, const std::vector<int64_t>& w,
                                          const Conv2d& c) {
    const int64_t columns = w[0] / c.groups, depth = w[1] * w[2] * w[3];
    if (c.groups > 1 && columns % kPanelColumns != 0)
      throw std::invalid_argument(fmt::format("a convolution with {} groups of {} channels", c.groups, columns));
    std::vector<float> packed;
    for (int64_t g = 0; g < c.groups; ++g) {
      const auto part =
          pack_weights(weights.subspan(static_cast<size_t>(g * columns * depth), static_cast<size_t>(columns * depth)),
                       columns, depth);
      packed.insert(packed.end(), part.begin(), part.end());
    }
    return packed;
  }

  void lower_pool(const Node& node) {
    const auto& p = node.as<Pool2d>();
    const Operand x = view(node.inputs[0]), out = fresh_image(shape(node.output));
    Step& s = add_step(StepKind::max_pool2d);
    s.window = {p.kernel, p.stride, p.padding, 1};
    s.at(Role::x) = x, s.at(Role::out) = out;
    set(node.output, as_channels_first(out));
  }

  // ---- Rows and elements ----

  void lower_norm(const Node& node) {
    const Operand x = as_rows(view(node.inputs[0]));
    const Operand weight = view(node.inputs[1]), bias = view(node.inputs[2]);
    const Operand out = fresh(x.sizes);
    Step& s = add_step(StepKind::layer_norm);
    s.at(Role::x) = x, s.at(Role::weights) = weight, s.at(Role::bias) = bias, s.at(Role::out) = out;
    s.number = node.as<LayerNorm>().eps;
    set(node.output, dense(out.buffer, shape(node.output)));
  }

  void lower_softmax(const Node& node) {
    const Operand x = view(node.inputs[0]);
    std::vector<int64_t> order(x.sizes.size()), back(x.sizes.size());
    std::iota(order.begin(), order.end(), 0);
    std::rotate(order.begin() + node.as<Axis>().axis, order.begin() + node.as<Axis>().axis + 1, order.end());
    for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    const Operand rows = with_dense_rows(permuted(x, order));
    const Operand out = fresh(rows.sizes);
    Step& s = add_step(StepKind::softmax);
    s.at(Role::x) = rows, s.at(Role::out) = out;
    set(node.output, permuted(out, back));
  }

  void lower_unary(const Node& node, Function function) {
    const Operand x = view(node.inputs[0]), out = fresh_like(x, x.sizes);
    Step& s = add_step(StepKind::unary);
    s.function = function;
    s.at(Role::x) = x, s.at(Role::out) = out;
    set(node.output, out);
  }

  void lower_binary(const Node& node, Function function) {
    const std::vector<int64_t> to = shape(node.output);
    const Operand a = view(node.inputs[0]), b = view(node.inputs[1]);
    const Operand out = fresh_like(a.sizes == to ? a : b, to);
    Step& s = add_step(StepKind::binary);
    s.function = function;
    s.at(Role::x) = broadcast(a, to), s.at(Role::y) = broadcast(b, to), s.at(Role::out) = out;
    set(node.output, out);
  }

  void lower_mean(const Node& node) {
    const Operand x = view(node.inputs[0]);
    const auto& dropped = node.as<Axes>().axes;
    std::vector<int64_t> order;
    for (int64_t d = 0; d < static_cast<int64_t>(x.sizes.size()); ++d) {
      if (std::ranges::find(dropped, d) == dropped.end()) order.push_back(d);
    }
    order.insert(order.end(), dropped.begin(), dropped.end());
    const Operand out = fresh(shape(node.output));
    Step& s = add_step(StepKind::mean);
    s.at(Role::x) = permuted(x, order), s.at(Role::out) = out;
    set(node.output, out);
  }

  // ---- Views ----

  void lower_reshape(const Node& node) {
    const Operand x = view(node.inputs[0]);
    const std::vector<int64_t> to = shape(node.output);
    if (const auto same = reshaped(x, to)) return set(node.output, *same);
    set(node.output, dense(copied(x).buffer, to));
  }

  void lower_slice(const Node& node) {
    const auto& slice = node.as<Slice>();
    Operand part = view(node.inputs[0]);
    const auto axis = static_cast<size_t>(slice.axis);
    part.offset += slice.begin * part.strides[axis];
    part.sizes[axis] = shape(node.output)[axis];
    set(node.output, part);
  }

  void lower_concat(const Node& node) {
    const Operand out = fresh(shape(node.output));
    const auto axis = static_cast<size_t>(node.as<Axis>().axis);
    Operand part = out;
    for (const ValueId id : node.inputs) {
      const Operand x = view(id);
      part.sizes[axis] = x.sizes[axis];
      copy(x, part);
      part.offset += x.sizes[axis] * part.strides[axis];
    }
    set(node.output, out);
  }

  void lower_roll(const Node& node) {
    const Operand x = view(node.inputs[0]), out = fresh(x.sizes);
    copy_rolled(x, out, node.as<Roll>(), 0);
    set(node.output, out);
  }

  /// Along each axis two parts change places.
  void copy_rolled(const Operand& from, const Operand& to, const Roll& roll, size_t i) {
    if (i == roll.axes.size()) return copy(from, to);
    const auto axis = static_cast<size_t>(roll.axes[i]);
    const int64_t size = from.sizes[axis], shift = ((roll.shifts[i] % size) + size) % size;
    const auto part = [axis](Operand o, int64_t begin, int64_t count) {
      o.offset += begin * o.strides[axis];
      o.sizes[axis] = count;
      return o;
    };
    copy_rolled(part(from, 0, size - shift), part(to, shift, size - shift), roll, i + 1);
    if (shift > 0) copy_rolled(part(from, size - shift, shift), part(to, 0, shift), roll, i + 1);
  }

  // ---- Attention ----

  void lower_attention(const Node& node) {
    const auto& a = node.as<Attention>();
    const Operand first = with_dense_rows(view(node.inputs[0]));
    const auto of_packed = [&](int64_t which) {  // [n,T,3,H,d] to [n,H,T,d]
      Operand o = permuted(first, {0, 3, 1, 4, 2});
      o.offset += which * o.strides[4];
      o.sizes.pop_back(), o.strides.pop_back();
      return o;
    };
    const auto of_own = [&](size_t i) { return with_dense_rows(view(node.inputs[i])); };
    const Operand q = a.packed ? of_packed(0) : first, k = a.packed ? of_packed(1) : of_own(1),
                  v = a.packed ? of_packed(2) : of_own(2);
    const size_t bias = a.packed ? 1 : 3;
    const Operand bias_view =
        node.inputs.size() > bias && node.inputs[bias] != kNoValue ? view(node.inputs[bias]) : Operand{};
    const Operand out = fresh({q.sizes[0], q.sizes[2], q.sizes[1], v.sizes[3]});  // [n,Tq,H,e]
    Step& s = add_step(StepKind::attention);
    s.attention = a.attention, s.geometry = a.geometry;
    s.at(Role::q) = q, s.at(Role::k) = k, s.at(Role::v) = v, s.at(Role::bias) = bias_view;
    s.at(Role::out) = permuted(out, {0, 2, 1, 3});
    set(node.output, dense(out.buffer, shape(node.output)));
  }
};

}  // namespace

Program lower(const Graph& graph, Precision precision, TensorStore& tensors) {
  validate(graph);
  return Lowerer(graph, precision, tensors).run();
}

}  // namespace fib::engine
