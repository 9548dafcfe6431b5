// SPDX-License-Identifier: Apache-2.0
#include "engine/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "engine/lowerer.h"

namespace fib::engine {

Lowerer::Lowerer(const Graph& graph, Precision precision, TensorStore& tensors)
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

Program Lowerer::run() {
  open_input();
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    if (!done_[n]) lower(n);
  }
  write_output();
  plan_arena(program_);
  check_program(program_);
  return std::move(program_);
}

// ---- Buffers and values ---------------------------------------------------------------------------------------------

int32_t Lowerer::add_buffer(Buffer buffer) {
  program_.buffers.push_back(std::move(buffer));
  return static_cast<int32_t>(program_.buffers.size() - 1);
}

int32_t Lowerer::arena(int64_t elements) { return add_buffer({Buffer::Kind::arena, elements, 0, {}, TensorType::f32}); }

Operand Lowerer::fresh(const std::vector<int64_t>& shape) { return dense(arena(product_of(shape)), shape); }

Operand Lowerer::fresh_like(const Operand& o, const std::vector<int64_t>& shape) {
  return dense_in_order(arena(product_of(shape)), shape,
                        o.sizes.size() == shape.size() ? o.strides : dense(0, shape).strides);
}

std::string Lowerer::name(ValueId id) const {
  return value(id).name.empty() ? fmt::format("constant.{}", id) : value(id).name;
}

Operand Lowerer::tensor(const std::string& stored, TensorType type) {
  const auto [place, is_new] = tensor_buffers_.try_emplace(stored, 0);
  const int64_t elements = tensors_.elements(stored);
  if (is_new) place->second = add_buffer({Buffer::Kind::tensor, elements, 0, stored, type});
  return dense(place->second, {elements});
}

Operand Lowerer::floats(const std::string& called, std::span<const float> values) {
  return tensor(tensors_.add(called, values), TensorType::f32);
}

Operand Lowerer::view(ValueId id) {
  if (!constant(id)) return *views_[static_cast<size_t>(id)];
  auto [place, is_new] = constants_.try_emplace(id);
  if (is_new) place->second = dense(floats(name(id), value(id).elements()).buffer, shape(id));
  return place->second;
}

Step& Lowerer::add_step(StepKind kind) {
  program_.steps.emplace_back().kind = kind;
  return program_.steps.back();
}

void Lowerer::add_scratch(Step& s) {
  const int64_t elements = scratch_elements(s);
  if (elements > 0) s.at(Role::scratch) = dense(arena(elements), {elements});
}

void Lowerer::copy(const Operand& from, const Operand& to) {
  Step& s = add_step(StepKind::copy);
  s.at(Role::x) = from, s.at(Role::out) = to;
}

Operand Lowerer::copied(const Operand& o) {
  Operand to = fresh(o.sizes);
  copy(o, to);
  return to;
}

Operand Lowerer::with_dense_rows(const Operand& o) {
  return o.sizes.back() == 1 || o.strides.back() == 1 ? o : copied(o);
}

Operand Lowerer::as_rows(const Operand& o) {
  if (const auto rows = rows_of(o)) return *rows;
  return *rows_of(copied(o));
}

// ---- The ends -------------------------------------------------------------------------------------------------------

void Lowerer::open_input() {
  const ValueId input = graph_.inputs.at(0);
  const std::vector<int64_t> one = shape(input);
  if ((one.size() != 4 && one.size() != 5) || one[0] != 1)
    throw std::invalid_argument(fmt::format(
        "a model must take images [B,C,h,w] or clips [B,C,T,h,w], this one takes {}", to_string(graph_.shape(input))));
  program_.sample.assign(one.begin() + 1, one.end());
  set(input, dense(add_buffer({Buffer::Kind::input, product_of(one), 0, {}, TensorType::f32}), one));
}

void Lowerer::write_output() {
  const Operand logits = view(graph_.outputs.at(0));
  program_.classes = logits.elements();
  copy(logits, dense(add_buffer({Buffer::Kind::output, program_.classes, 0, {}, TensorType::f32}), logits.sizes));
}

// ---- Nodes ----------------------------------------------------------------------------------------------------------

void Lowerer::lower(size_t n) {
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

std::optional<size_t> Lowerer::sole_consumer(ValueId id) const {
  const auto& readers = consumers_[static_cast<size_t>(id)];
  const bool is_output = std::ranges::find(graph_.outputs, id) != graph_.outputs.end();
  return readers.size() == 1 && !is_output ? std::optional(readers[0]) : std::nullopt;
}

// ---- Rows and elements ----------------------------------------------------------------------------------------------

void Lowerer::lower_norm(const Node& node) {
  const Operand x = as_rows(view(node.inputs[0]));
  const Operand weight = view(node.inputs[1]), bias = view(node.inputs[2]);
  const Operand out = fresh(x.sizes);
  Step& s = add_step(StepKind::layer_norm);
  s.at(Role::x) = x, s.at(Role::weights) = weight, s.at(Role::bias) = bias, s.at(Role::out) = out;
  s.number = node.as<LayerNorm>().eps;
  set(node.output, dense(out.buffer, shape(node.output)));
}

void Lowerer::lower_softmax(const Node& node) {
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

void Lowerer::lower_unary(const Node& node, Function function) {
  const Operand x = view(node.inputs[0]), out = fresh_like(x, x.sizes);
  Step& s = add_step(StepKind::unary);
  s.function = function;
  s.at(Role::x) = x, s.at(Role::out) = out;
  set(node.output, out);
}

void Lowerer::lower_binary(const Node& node, Function function) {
  const std::vector<int64_t> to = shape(node.output);
  const Operand a = view(node.inputs[0]), b = view(node.inputs[1]);
  const Operand out = fresh_like(a.sizes == to ? a : b, to);
  Step& s = add_step(StepKind::binary);
  s.function = function;
  s.at(Role::x) = broadcast(a, to), s.at(Role::y) = broadcast(b, to), s.at(Role::out) = out;
  set(node.output, out);
}

void Lowerer::lower_mean(const Node& node) {
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

// ---- Views ----------------------------------------------------------------------------------------------------------

void Lowerer::lower_reshape(const Node& node) {
  const Operand x = view(node.inputs[0]);
  const std::vector<int64_t> to = shape(node.output);
  if (const auto same = reshaped(x, to)) return set(node.output, *same);
  set(node.output, dense(copied(x).buffer, to));
}

void Lowerer::lower_slice(const Node& node) {
  const auto& slice = node.as<Slice>();
  Operand part = view(node.inputs[0]);
  const auto axis = static_cast<size_t>(slice.axis);
  part.offset += slice.begin * part.strides[axis];
  part.sizes[axis] = shape(node.output)[axis];
  set(node.output, part);
}

void Lowerer::lower_concat(const Node& node) {
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

void Lowerer::lower_roll(const Node& node) {
  const Operand x = view(node.inputs[0]), out = fresh(x.sizes);
  copy_rolled(x, out, node.as<Roll>(), 0);
  set(node.output, out);
}

void Lowerer::copy_rolled(const Operand& from, const Operand& to, const Roll& roll, size_t i) {
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

// ---- Attention ------------------------------------------------------------------------------------------------------

void Lowerer::lower_attention(const Node& node) {
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

Program lower(const Graph& graph, Precision precision, TensorStore& tensors) {
  validate(graph);
  return Lowerer(graph, precision, tensors).run();
}

}  // namespace fib::engine
