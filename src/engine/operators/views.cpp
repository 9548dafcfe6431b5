// SPDX-License-Identifier: Apache-2.0
// Operators that move values or show them another way. Where strides allow it they cost nothing; else they are copies.
#include <algorithm>
#include <cstring>

#include "engine/aten_call.h"
#include "engine/lowerer.h"
#include "engine/node_checker.h"
#include "engine/onnx_node.h"
#include "engine/step_checker.h"
#include "engine/strided.h"

namespace fib::engine {
namespace {

// ---- Reshape and permute --------------------------------------------------------------------------------------------

void check_reshape(const NodeChecker& n) {
  const auto samples = [](const Shape& s) {
    return std::count_if(s.begin(), s.end(), [](Dim d) { return d.batched; });
  };
  n.require(samples(n.in(0)) == samples(n.out()) && elements(n.in(0), 1) == elements(n.out(), 1),
            "the elements are not as many");
}

void record_reshape(AtenCall& c) { c.emit(Op::reshape, {c.operand(0)}); }

constexpr AtenRule kReshapeRules[] = {{"aten::view", record_reshape},         {"aten::reshape", record_reshape},
                                      {"aten::_unsafe_view", record_reshape}, {"aten::flatten", record_reshape},
                                      {"aten::unflatten", record_reshape},    {"aten::squeeze", record_reshape},
                                      {"aten::unsqueeze", record_reshape}};

void lower_reshape(Lowerer& l, size_t n) {
  const Node& node = l.node(n);
  const Operand x = l.view(node.inputs[0]);
  const std::vector<int64_t> to = l.shape(node.output);
  if (const auto same = reshaped(x, to)) return l.set(node.output, *same);
  l.set(node.output, dense(l.copied(x).buffer, to));
}

void check_permute(const NodeChecker& n) {
  std::vector<int64_t> order = n.attributes<Permute>().order;
  n.require(order.size() == n.in(0).size() && n.out().size() == order.size(), "the order has another length");
  for (size_t i = 0; i < order.size(); ++i) {
    n.require_axis(order[i]);
    n.require(n.out()[i] == n.in(0)[static_cast<size_t>(order[i])], "the shape is another");
  }
  std::sort(order.begin(), order.end());
  if (std::adjacent_find(order.begin(), order.end()) != order.end()) n.refuse("an axis stands in its order twice");
}

void record_swap(AtenCall& c, int64_t a, int64_t b) {
  std::vector<int64_t> order(static_cast<size_t>(c.rank()));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  std::swap(order[static_cast<size_t>(a)], order[static_cast<size_t>(b)]);
  c.emit(Op::permute, {c.operand(0)}, Permute{order});
}

constexpr AtenRule kPermuteRules[] = {
    {"aten::permute", [](AtenCall& c) { c.emit(Op::permute, {c.operand(0)}, Permute{c.axes(1)}); }},
    {"aten::transpose", [](AtenCall& c) { record_swap(c, c.axis(1, c.rank()), c.axis(2, c.rank())); }},
    {"aten::t", [](AtenCall& c) { record_swap(c, 0, c.rank() - 1); }}};

void lower_permute(Lowerer& l, size_t n) {
  const Node& node = l.node(n);
  l.set(node.output, permuted(l.view(node.inputs[0]), node.as<Permute>().order));
}

// ---- Slice and concat -----------------------------------------------------------------------------------------------

void check_slice(const NodeChecker& n) {
  const auto& a = n.attributes<Slice>();
  n.require_axis(a.axis);
  const auto axis = static_cast<size_t>(a.axis);
  Shape expected = n.in(0);
  n.require(n.out().size() == expected.size(), "the shape is another");
  n.require(!expected[axis].batched && a.begin >= 0 && a.begin <= expected[axis].count - n.out()[axis].count,
            "it reads outside");
  expected[axis] = n.out()[axis];
  n.require(expected == n.out(), "the shape is another");
}

/// `count` elements along an axis; the output is bound to them in its own shape.
void record_part(AtenCall& c, size_t output, int64_t along, int64_t begin, int64_t count) {
  std::vector<int64_t> cut = c.sizes(0);
  cut[static_cast<size_t>(along)] = count;
  ValueId id = c.add(Op::slice, {c.operand(0)}, cut, Slice{along, begin});
  if (c.output_sizes(output) != cut) id = c.add(Op::reshape, {id}, c.output_sizes(output));
  c.bind(id, output);
}

int64_t begin_of(const AtenCall& c, int64_t along) { return c.axis(2, c.sizes(0)[static_cast<size_t>(along)]); }

/// (x, axis, index)
void record_select(AtenCall& c) {
  const int64_t along = c.axis(1, c.rank());
  record_part(c, 0, along, begin_of(c, along), 1);
}

/// (x, axis, begin, count)
void record_narrow(AtenCall& c) {
  const int64_t along = c.axis(1, c.rank());
  record_part(c, 0, along, begin_of(c, along), c.integer(3));
}

/// (x, axis, begin, end, step)
void record_slice(AtenCall& c) {
  c.require(!c.given(4) || c.integer(4) == 1, "has a step");
  const int64_t along = c.axis(1, c.rank());
  record_part(c, 0, along, c.given(2) ? begin_of(c, along) : 0, c.output_sizes()[static_cast<size_t>(along)]);
}

/// chunk and split: (x, how, axis), parts side by side.
void record_split(AtenCall& c) {
  const int64_t along = c.axis(2, c.rank());
  int64_t begin = 0;
  for (size_t i = 0; i < c.outputs(); ++i) {
    const int64_t count = c.output_sizes(i)[static_cast<size_t>(along)];
    record_part(c, i, along, begin, count);
    begin += count;
  }
}

/// (x, axis)
void record_unbind(AtenCall& c) {
  for (size_t i = 0; i < c.outputs(); ++i) record_part(c, i, c.axis(1, c.rank()), static_cast<int64_t>(i), 1);
}

constexpr AtenRule kSliceRules[] = {{"aten::select", record_select}, {"aten::narrow", record_narrow},
                                    {"aten::slice", record_slice},   {"aten::chunk", record_split},
                                    {"aten::split", record_split},   {"aten::split_with_sizes", record_split},
                                    {"aten::unbind", record_unbind}};

void lower_slice(Lowerer& l, size_t n) {
  const Node& node = l.node(n);
  const auto& slice = node.as<Slice>();
  Operand part = l.view(node.inputs[0]);
  const auto axis = static_cast<size_t>(slice.axis);
  part.offset += slice.begin * part.strides[axis];
  part.sizes[axis] = l.shape(node.output)[axis];
  l.set(node.output, part);
}

OnnxName slice_to_onnx(OnnxNode& node) {
  const auto& a = node.as<Slice>();
  return node.cut(node.in(0), a.axis, a.begin, a.begin + node.out_shape()[static_cast<size_t>(a.axis)].count);
}

void check_concat(const NodeChecker& n) {
  n.require_axis(n.attributes<Axis>().axis);
  const auto axis = static_cast<size_t>(n.attributes<Axis>().axis);
  Shape expected = n.in(0);
  for (size_t i = 1; i < n.node().inputs.size(); ++i) {
    n.require(n.in(i).size() == expected.size(), "the parts do not fit");
    Shape part = n.in(i);
    expected[axis].count += part[axis].count;
    part[axis] = expected[axis];
    n.require(part == expected, "the parts do not fit");
  }
  n.require(expected == n.out() && !expected[axis].batched, "the parts do not fit");
}

/// (parts, axis); parts without elements, such as no class tokens, are left out.
void record_concat(AtenCall& c) {
  const auto rank = static_cast<int64_t>(c.output_sizes().size());
  c.emit(Op::concat, c.operands(0), Axis{c.axis(1, rank)});
}

constexpr AtenRule kConcatRules[] = {{"aten::cat", record_concat}};

void lower_concat(Lowerer& l, size_t n) {
  const Node& node = l.node(n);
  // In the order of what was computed: behind convolutions channels are last.
  const Operand like = l.view(node.inputs.back());
  const bool spread = std::ranges::find(like.strides, 0) == like.strides.end();
  const Operand out = spread ? l.fresh_like(like, l.shape(node.output)) : l.fresh(l.shape(node.output));
  const auto axis = static_cast<size_t>(node.as<Axis>().axis);
  Operand part = out;
  for (const ValueId id : node.inputs) {
    const Operand x = l.view(id);
    part.sizes[axis] = x.sizes[axis];
    l.copy(x, part);
    part.offset += x.sizes[axis] * part.strides[axis];
  }
  l.set(node.output, out);
}

OnnxName concat_to_onnx(OnnxNode& node) {
  std::vector<OnnxName> parts;
  for (size_t i = 0; i < node.inputs(); ++i) parts.push_back(node.in(i));
  return node.node("Concat", parts, {{"axis", node.as<Axis>().axis}});
}

// ---- Roll and expand ------------------------------------------------------------------------------------------------

void check_roll(const NodeChecker& n) {
  const auto& a = n.attributes<Roll>();
  if (a.shifts.size() != a.axes.size()) n.refuse("it has not as many shifts as axes");
  for (const int64_t axis : a.axes) {
    n.require_axis(axis);
    if (n.in(0)[static_cast<size_t>(axis)].batched) n.refuse("it would mix samples");
  }
  n.require_same_shape();
}

/// (x, shifts, axes)
void record_roll(AtenCall& c) {
  c.require(!c.integers(2).empty(), "is over everything");
  c.emit(Op::roll, {c.operand(0)}, Roll{c.integers(1), c.axes(2)});
}

constexpr AtenRule kRollRules[] = {{"aten::roll", record_roll, [](const AtenCall& c) { return c.sizes(0); }}};

/// Along each axis two parts change places.
void copy_rolled(Lowerer& l, const Operand& from, const Operand& to, const Roll& roll, size_t i) {
  if (i == roll.axes.size()) return l.copy(from, to);
  const auto axis = static_cast<size_t>(roll.axes[i]);
  const int64_t size = from.sizes[axis], shift = ((roll.shifts[i] % size) + size) % size;
  const auto part = [axis](Operand o, int64_t begin, int64_t count) {
    o.offset += begin * o.strides[axis];
    o.sizes[axis] = count;
    return o;
  };
  copy_rolled(l, part(from, 0, size - shift), part(to, shift, size - shift), roll, i + 1);
  if (shift > 0) copy_rolled(l, part(from, size - shift, shift), part(to, 0, shift), roll, i + 1);
}

void lower_roll(Lowerer& l, size_t n) {
  const Node& node = l.node(n);
  const Operand x = l.view(node.inputs[0]), out = l.fresh(x.sizes);
  copy_rolled(l, x, out, node.as<Roll>(), 0);
  l.set(node.output, out);
}

/// The end comes to the front.
OnnxName roll_to_onnx(OnnxNode& node) {
  const auto& a = node.as<Roll>();
  OnnxName x = node.in(0);
  for (size_t i = 0; i < a.axes.size(); ++i) {
    const int64_t size = node.in_shape(0)[static_cast<size_t>(a.axes[i])].count;
    const int64_t shift = (a.shifts[i] % size + size) % size;
    if (shift == 0) continue;
    const OnnxName front = node.cut(x, a.axes[i], size - shift, size), back = node.cut(x, a.axes[i], 0, size - shift);
    x = node.node("Concat", {front, back}, {{"axis", a.axes[i]}});
  }
  return x;
}

void check_expand(const NodeChecker& n) { n.require(broadcast(n.in(0), n.out()) == n.out(), "it does not expand so"); }

constexpr AtenRule kExpandRules[] = {{"aten::expand", [](AtenCall& c) { c.emit(Op::expand, {c.operand(0)}); }}};

void lower_expand(Lowerer& l, size_t n) {
  const Node& node = l.node(n);
  l.set(node.output, broadcast(l.view(node.inputs[0]), l.shape(node.output)));
}

// ---- The copy -------------------------------------------------------------------------------------------------------

void check_copy_step(const StepChecker& s) {
  s.need({Role::x});
  s.same_sizes(Role::x, Role::out);
}

BoundStep bind_copy(const Step& s, const Program&) {
  return [&s, loop = Loop<2>({&s.at(Role::out), &s.at(Role::x)})](const Memory& m) {
    float* const out = m.floats(s.at(Role::out));
    const float* const x = m.floats(s.at(Role::x));
    loop.run([&](const auto& at, const auto& step, int64_t count) {
      if (step[0] == 1 && step[1] == 1) {
        std::memmove(out + at[0], x + at[1], static_cast<size_t>(count) * sizeof(float));
      } else {
        for (int64_t i = 0; i < count; ++i) out[at[0] + i * step[0]] = x[at[1] + i * step[1]];
      }
    });
  };
}

constexpr size_t kAny = 1 << 20;

}  // namespace

const Operator operators::reshape{.name = "reshape",
                                  .check = check_reshape,
                                  .aten = kReshapeRules,
                                  .lower = lower_reshape,
                                  .onnx = [](OnnxNode& node) { return node.reshape(node.in(0), node.out_shape()); }};

const Operator operators::permute{.name = "permute",
                                  .check = check_permute,
                                  .aten = kPermuteRules,
                                  .lower = lower_permute,
                                  .onnx = [](OnnxNode& node) {
                                    return node.node("Transpose", {node.in(0)}, {{"perm", node.as<Permute>().order}});
                                  }};

const Operator operators::slice{
    .name = "slice", .check = check_slice, .aten = kSliceRules, .lower = lower_slice, .onnx = slice_to_onnx};

const Operator operators::concat{.name = "concat",
                                 .least_inputs = 1,
                                 .most_inputs = kAny,
                                 .check = check_concat,
                                 .aten = kConcatRules,
                                 .lower = lower_concat,
                                 .onnx = concat_to_onnx};

const Operator operators::roll{
    .name = "roll", .check = check_roll, .aten = kRollRules, .lower = lower_roll, .onnx = roll_to_onnx};

const Operator operators::expand{
    .name = "expand", .check = check_expand, .aten = kExpandRules, .lower = lower_expand, .onnx = [](OnnxNode& node) {
      return node.node("Expand", {node.in(0), node.extents(node.out_shape())});
    }};

const StepType steps::copy{.name = "copy", .check = check_copy_step, .bind = bind_copy, .cost = cost_of_output};

}  // namespace fib::engine
