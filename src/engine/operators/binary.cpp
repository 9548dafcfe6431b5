// SPDX-License-Identifier: Apache-2.0
// Functions of two elements, broadcast as in NumPy.

#include "engine/aten_call.h"
#include "engine/lowerer.h"
#include "engine/node_checker.h"
#include "engine/onnx_node.h"
#include "engine/step_checker.h"
#include "engine/strided.h"

namespace fib::engine {
namespace {

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

bool is_binary(Function f) { return f == Function::add || f == Function::subtract || f == Function::multiply; }

void check_binary_step(const StepChecker& s) {
  s.need({Role::x, Role::y});
  s.require(is_binary(s.step().function), "no such function");
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

constexpr Operator operators::add = binary("add", kAddRules, lower_binary<Function::add>, [](OnnxNode& node) {
  return node.node("Add", {node.in(0), node.in(1)});
});
constexpr Operator operators::sub = binary("sub", kSubRules, lower_binary<Function::subtract>, [](OnnxNode& node) {
  return node.node("Sub", {node.in(0), node.in(1)});
});
constexpr Operator operators::mul = binary("mul", kMulRules, lower_binary<Function::multiply>, [](OnnxNode& node) {
  return node.node("Mul", {node.in(0), node.in(1)});
});

const StepType steps::binary{.name = "binary", .check = check_binary_step, .bind = bind_binary, .cost = cost_of_output};

}  // namespace fib::engine
