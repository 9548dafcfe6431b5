// SPDX-License-Identifier: Apache-2.0
// Functions of one element and of two, broadcast as in NumPy.
#include <algorithm>
#include <numbers>

#include "engine/aten_call.h"
#include "engine/lowerer.h"
#include "engine/node_checker.h"
#include "engine/onnx_node.h"
#include "engine/simd_table.h"
#include "engine/step_checker.h"
#include "engine/strided.h"

namespace fib::engine {
namespace {

// ---- One element ----------------------------------------------------------------------------------------------------

template <Op op>
void record_unary(AtenCall& c) {
  c.emit(op, {c.operand(0)});
}

void record_gelu(AtenCall& c) {
  c.require(!c.given(1) || c.text(1) == "none", "is approximate");
  c.emit(Op::gelu, {c.operand(0)});
}

constexpr AtenRule kGeluRules[] = {{"aten::gelu", record_gelu}};
constexpr AtenRule kSigmoidRules[] = {{"aten::sigmoid", record_unary<Op::sigmoid>}};
constexpr AtenRule kReluRules[] = {{"aten::relu", record_unary<Op::relu>}};

template <Function function>
void lower_unary(Lowerer& l, size_t n) {
  const Node& node = l.node(n);
  const Operand x = l.view(node.inputs[0]), out = l.fresh_like(x, x.sizes);
  Step& s = l.add_step(StepKind::unary);
  s.function = function;
  s.at(Role::x) = x, s.at(Role::out) = out;
  l.set(node.output, out);
}

/// In the order of operators that runtimes know as GELU.
OnnxName gelu_to_onnx(OnnxNode& node) {
  const OnnxName x = node.in(0);
  const OnnxName erf = node.node("Erf", {node.node("Div", {x, node.scalar(std::numbers::sqrt2_v<float>)})});
  const OnnxName doubled = node.node("Mul", {x, node.node("Add", {erf, node.scalar(1.0F)})});
  return node.node("Mul", {doubled, node.scalar(0.5F)});
}

void check_unary_step(const StepChecker& s) {
  s.need({Role::x});
  s.require(s.step().function >= Function::gelu && s.step().function <= Function::sigmoid, "no such function");
  s.same_sizes(Role::x, Role::out);
}

using RowFunction = void (*)(const float* x, float* out, int64_t count);

void relu_row(const float* x, float* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = std::max(x[i], 0.0f);
}

RowFunction row_function(Function function) {
  if (function == Function::relu) return relu_row;
  return function == Function::gelu ? simd_table().gelu : simd_table().sigmoid;
}

BoundStep bind_unary(const Step& s, const Program&) {
  return [&s, loop = Loop<2>({&s.at(Role::out), &s.at(Role::x)})](const Memory& m) {
    const RowFunction function = row_function(s.function);
    float* const out = m.floats(s.at(Role::out));
    const float* const x = m.floats(s.at(Role::x));
    loop.run([&](const auto& at, const auto& step, int64_t count) {
      if (step[0] == 1 && step[1] == 1) return function(x + at[1], out + at[0], count);
      for (int64_t i = 0; i < count; ++i) function(x + at[1] + i * step[1], out + at[0] + i * step[0], 1);
    });
  };
}

// ---- Two elements ---------------------------------------------------------------------------------------------------

void check_binary(const NodeChecker& n) {
  n.require(broadcast(n.in(0), n.in(1)) == n.out(), "what is broadcast does not fit");
}

/// (a, b, factor of b)
template <Op op>
void record_binary(AtenCall& c) {
  c.require(!c.given(2) || c.number(2) == 1.0, "scales its second operand");
  c.emit(op, {c.operand(0), c.operand(1)});
}

void record_subtract_from(AtenCall& c) {
  c.require(!c.given(2) || c.number(2) == 1.0, "scales its second operand");
  c.emit(Op::sub, {c.operand(1), c.operand(0)});
}

constexpr AtenRule kAddRules[] = {{"aten::add", record_binary<Op::add>}};
constexpr AtenRule kSubRules[] = {{"aten::sub", record_binary<Op::sub>}, {"aten::rsub", record_subtract_from}};
constexpr AtenRule kMulRules[] = {{"aten::mul", record_binary<Op::mul>}};

template <Function function>
void lower_binary(Lowerer& l, size_t n) {
  const Node& node = l.node(n);
  const std::vector<int64_t> to = l.shape(node.output);
  const Operand a = l.view(node.inputs[0]), b = l.view(node.inputs[1]);
  const Operand out = l.fresh_like(a.sizes == to ? a : b, to);
  Step& s = l.add_step(StepKind::binary);
  s.function = function;
  s.at(Role::x) = broadcast(a, to), s.at(Role::y) = broadcast(b, to), s.at(Role::out) = out;
  l.set(node.output, out);
}

void check_binary_step(const StepChecker& s) {
  s.need({Role::x, Role::y});
  s.require(s.step().function >= Function::add, "no such function");
  s.same_sizes(Role::x, Role::out);
  s.same_sizes(Role::y, Role::out);
}

template <class Apply>
BoundStep bind_binary_with(const Step& s, Apply apply) {
  return [&s, apply, loop = Loop<3>({&s.at(Role::out), &s.at(Role::x), &s.at(Role::y)})](const Memory& m) {
    float* const to = m.floats(s.at(Role::out));
    const float *const from = m.floats(s.at(Role::x)), *const other = m.floats(s.at(Role::y));
    loop.run([&](const auto& at, const auto& step, int64_t count) {
      float* out = to + at[0];
      const float *x = from + at[1], *y = other + at[2];
      if (step[0] == 1 && step[1] == 1 && step[2] == 1) {
        for (int64_t i = 0; i < count; ++i) out[i] = apply(x[i], y[i]);
      } else if (step[0] == 1 && step[1] == 1 && step[2] == 0) {
        for (int64_t i = 0; i < count; ++i) out[i] = apply(x[i], *y);
      } else {
        for (int64_t i = 0; i < count; ++i) out[i * step[0]] = apply(x[i * step[1]], y[i * step[2]]);
      }
    });
  };
}

BoundStep bind_binary(const Step& s, const Program&) {
  if (s.function == Function::add) return bind_binary_with(s, [](float a, float b) { return a + b; });
  if (s.function == Function::subtract) return bind_binary_with(s, [](float a, float b) { return a - b; });
  return bind_binary_with(s, [](float a, float b) { return a * b; });
}

constexpr Operator unary(const char* name, std::span<const AtenRule> aten, void (*lower)(Lowerer&, size_t),
                         OnnxName (*onnx)(OnnxNode&)) {
  return {.name = name,
          .least_inputs = 1,
          .most_inputs = 1,
          .check = [](const NodeChecker& n) { n.require_same_shape(); },
          .aten = aten,
          .lower = lower,
          .onnx = onnx};
}

constexpr Operator binary(const char* name, std::span<const AtenRule> aten, void (*lower)(Lowerer&, size_t),
                          OnnxName (*onnx)(OnnxNode&)) {
  return {.name = name,
          .least_inputs = 2,
          .most_inputs = 2,
          .check = check_binary,
          .aten = aten,
          .lower = lower,
          .onnx = onnx};
}

}  // namespace

constexpr Operator operators::gelu = unary("gelu", kGeluRules, lower_unary<Function::gelu>, gelu_to_onnx);
constexpr Operator operators::sigmoid = unary("sigmoid", kSigmoidRules, lower_unary<Function::sigmoid>,
                                              [](OnnxNode& node) { return node.node("Sigmoid", {node.in(0)}); });
constexpr Operator operators::relu = unary("relu", kReluRules, lower_unary<Function::relu>,
                                           [](OnnxNode& node) { return node.node("Relu", {node.in(0)}); });
constexpr Operator operators::add = binary("add", kAddRules, lower_binary<Function::add>, [](OnnxNode& node) {
  return node.node("Add", {node.in(0), node.in(1)});
});
constexpr Operator operators::sub = binary("sub", kSubRules, lower_binary<Function::subtract>, [](OnnxNode& node) {
  return node.node("Sub", {node.in(0), node.in(1)});
});
constexpr Operator operators::mul = binary("mul", kMulRules, lower_binary<Function::multiply>, [](OnnxNode& node) {
  return node.node("Mul", {node.in(0), node.in(1)});
});

const StepType steps::unary{.name = "unary", .check = check_unary_step, .bind = bind_unary, .cost = cost_of_output};
const StepType steps::binary{.name = "binary", .check = check_binary_step, .bind = bind_binary, .cost = cost_of_output};

}  // namespace fib::engine
