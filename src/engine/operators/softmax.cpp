// SPDX-License-Identifier: Apache-2.0
// Softmax along one axis. First its loop over a row, compiled once for every SIMD target (docs/targets.md); then,
// compiled once, operator and step.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/operators/softmax.cpp"
#include "kernels/simd/dispatch.h"
//

#include <algorithm>
#include <limits>

#include "engine/simd/activations-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fib::engine {
namespace HWY_NAMESPACE {

void softmax_row(const float* HWY_RESTRICT x, float* HWY_RESTRICT out, int64_t count) {
  const FloatTag d;
  float row_max = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < count; ++i) row_max = std::max(row_max, x[i]);
  const auto highest = hn::Set(d, row_max);
  auto sum = hn::Zero(d);
  for_vectors(count, [&](int64_t i, int64_t n) HWY_ATTR {
    auto e = kernels::HWY_NAMESPACE::exponential<float>(hn::Sub(load_columns(x + i, n), highest));
    e = hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(n)), e);
    sum = hn::Add(sum, e);
    store_columns(e, out + i, n);
  });
  const auto inverse = hn::Set(d, 1.0f / hn::GetLane(hn::SumOfLanes(d, sum)));
  for_vectors(count, [&](int64_t i, int64_t n)
                         HWY_ATTR { store_columns(hn::Mul(load_columns(out + i, n), inverse), out + i, n); });
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::engine
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <numeric>

#include "engine/aten_call.h"
#include "engine/lowerer.h"
#include "engine/node_checker.h"
#include "engine/onnx_node.h"
#include "engine/step_checker.h"
#include "engine/strided.h"
#include "kernels/tiles.h"

namespace fib::engine {
namespace {

HWY_EXPORT(softmax_row);

void check_softmax(const NodeChecker& n) {
  n.require_axis(n.attributes<Axis>().axis);
  n.require_same_shape();
}

/// (x, axis)
void record_softmax(AtenCall& c) { c.emit(Op::softmax, {c.operand(0)}, Axis{c.axis(1, c.rank())}); }

constexpr AtenRule kSoftmaxRules[] = {{"aten::softmax", record_softmax}};

void lower_softmax(Lowerer& l, size_t n) {
  const Node& node = l.node(n);
  const Operand x = l.view(node.inputs[0]);
  const int64_t axis = node.as<Axis>().axis;
  std::vector<int64_t> order(x.sizes.size()), back(x.sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + axis, order.begin() + axis + 1, order.end());
  for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  const Operand rows = l.with_dense_rows(permuted(x, order));
  const Operand out = l.fresh(rows.sizes);
  Step& s = l.add_step(StepKind::softmax);
  s.at(Role::x) = rows, s.at(Role::out) = out;
  l.set(node.output, permuted(out, back));
}

void check_softmax_step(const StepChecker& s) {
  s.need({Role::x});
  s.dense_rows(Role::x), s.dense_rows(Role::out);
  s.same_sizes(Role::x, Role::out);
}

BoundStep bind_softmax(const Step& s, const Program&) {
  const Operand out = outer(s.at(Role::out), 1), x = outer(s.at(Role::x), 1);
  return [&s, positions = Positions<2>({&out, &x})](const Memory& m) {
    float* const to = m.floats(s.at(Role::out));
    const float* const from = m.floats(s.at(Role::x));
    const auto softmax = kernels::choose_target(HWY_DISPATCH_TABLE(softmax_row), kernels::chosen_target());
    parallel_tasks(positions.count(), [&](int64_t i) {
      const auto at = positions.at(i);
      softmax(from + at[1], to + at[0], s.at(Role::x).sizes.back());
    });
  };
}

}  // namespace

const Operator operators::softmax{
    .name = "softmax",
    .check = check_softmax,
    .aten = kSoftmaxRules,
    .lower = lower_softmax,
    .onnx = [](OnnxNode& node) { return node.softmax(node.in(0), node.as<Axis>().axis); }};

const StepType steps::softmax{
    .name = "softmax", .check = check_softmax_step, .bind = bind_softmax, .cost = cost_of_output};

}  // namespace fib::engine
#endif
