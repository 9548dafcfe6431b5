// SPDX-License-Identifier: Apache-2.0
// Functions of one element. First what each computes, on a vector, compiled once for every SIMD target
// (docs/targets.md); then, compiled once, its operator and the step that they share.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/operators/unary.cpp"
#include "kernels/simd/dispatch.h"
//

#include <span>

#include "engine/operators.h"
#include "engine/simd/activations-inl.h"

#ifndef FIB_ENGINE_UNARY_ROWS_
#define FIB_ENGINE_UNARY_ROWS_
namespace fib::engine {

/// A function and its loop over consecutive elements.
struct UnaryRow {
  Function function;
  void (*apply)(const float* x, float* out, int64_t count);
};

}  // namespace fib::engine
#endif

HWY_BEFORE_NAMESPACE();
namespace fib::engine {
namespace HWY_NAMESPACE {

struct Gelu {
  static HWY_INLINE FloatVec of(FloatVec x) { return gelu(x); }
};

/// NaN stays NaN.
struct Relu {
  static HWY_INLINE FloatVec of(FloatVec x) { return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(FloatTag())), x); }
};

/// 1 / (1 + e^-x), from e^-|x| so that nothing overflows.
struct Sigmoid {
  static HWY_INLINE FloatVec of(FloatVec x) {
    const FloatTag d;
    const auto one = hn::Set(d, 1.0f);
    const auto e = kernels::HWY_NAMESPACE::exponential<float>(hn::Neg(hn::Abs(x)));
    const auto inverse = hn::Div(one, hn::Add(one, e));
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(e, inverse), inverse);
  }
};

template <class Unary>
void apply(const float* HWY_RESTRICT x, float* HWY_RESTRICT out, int64_t count) {
  for_vectors(count,
              [&](int64_t i, int64_t n) HWY_ATTR { store_columns(Unary::of(load_columns(x + i, n)), out + i, n); });
}

std::span<const UnaryRow> unary_rows() {
  static constexpr UnaryRow kRows[] = {
      {Function::gelu, apply<Gelu>}, {Function::relu, apply<Relu>}, {Function::sigmoid, apply<Sigmoid>}};
  return kRows;
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::engine
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <numbers>

#include "engine/aten_call.h"
#include "engine/lowerer.h"
#include "engine/node_checker.h"
#include "engine/onnx_node.h"
#include "engine/step_checker.h"
#include "engine/strided.h"
#include "kernels/activation.h"
#include "kernels/tiles.h"

namespace fib::engine {
namespace {

HWY_EXPORT(unary_rows);

/// The kernel of layers that are trained.
void apply_mish(const float* x, float* out, int64_t count) {
  kernels::mish_of_target(kernels::chosen_target()).forward(x, count, out);
}

/// Null where the function is not one of a single element.
const UnaryRow* find_unary(Function function) {
  static constexpr UnaryRow kMish{Function::mish, apply_mish};
  if (function == Function::mish) return &kMish;
  const auto rows = kernels::choose_target(HWY_DISPATCH_TABLE(unary_rows), kernels::chosen_target())();
  const auto found = std::ranges::find(rows, function, &UnaryRow::function);
  return found == rows.end() ? nullptr : &*found;
}

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
std::vector<int64_t> same_sizes(const AtenCall& c) { return c.sizes(0); }

constexpr AtenRule kReluRules[] = {{"aten::relu", record_unary<Op::relu>, same_sizes}};
constexpr AtenRule kMishRules[] = {{"aten::mish", record_unary<Op::mish>, same_sizes}};

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

OnnxName mish_to_onnx(OnnxNode& node) {
  return node.node("Mul", {node.in(0), node.node("Tanh", {node.node("Softplus", {node.in(0)})})});
}

constexpr Operator unary(const char* name, std::span<const AtenRule> aten, void (*lower)(Lowerer&, size_t),
                         OnnxName (*onnx)(OnnxNode&)) {
  return {.name = name,
          .check = [](const NodeChecker& n) { n.require_same_shape(); },
          .aten = aten,
          .lower = lower,
          .onnx = onnx};
}

// ---- The step -------------------------------------------------------------------------------------------------------

void check_unary_step(const StepChecker& s) {
  s.need({Role::x});
  s.require(find_unary(s.step().function) != nullptr, "no such function");
  s.same_sizes(Role::x, Role::out);
}

BoundStep bind_unary(const Step& s, const Program&) {
  return [&s, loop = Loop<2>({&s.at(Role::out), &s.at(Role::x)})](const Memory& m) {
    const auto apply = find_unary(s.function)->apply;
    float* const out = m.floats(s.at(Role::out));
    const float* const x = m.floats(s.at(Role::x));
    loop.run([&](const auto& at, const auto& step, int64_t count) {
      if (step[0] == 1 && step[1] == 1) return apply(x + at[1], out + at[0], count);
      for (int64_t i = 0; i < count; ++i) apply(x + at[1] + i * step[1], out + at[0] + i * step[0], 1);
    });
  };
}

}  // namespace

constexpr Operator operators::gelu = unary("gelu", kGeluRules, lower_unary<Function::gelu>, gelu_to_onnx);
constexpr Operator operators::sigmoid = unary("sigmoid", kSigmoidRules, lower_unary<Function::sigmoid>,
                                              [](OnnxNode& node) { return node.node("Sigmoid", {node.in(0)}); });
constexpr Operator operators::relu = unary("relu", kReluRules, lower_unary<Function::relu>,
                                           [](OnnxNode& node) { return node.node("Relu", {node.in(0)}); });

constexpr Operator operators::mish = unary("mish", kMishRules, lower_unary<Function::mish>, mish_to_onnx);

const StepType steps::unary{.name = "unary", .check = check_unary_step, .bind = bind_unary, .cost = cost_of_output};

}  // namespace fib::engine
#endif
