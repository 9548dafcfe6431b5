// SPDX-License-Identifier: Apache-2.0
// Operators whose elements depend on a row or on several dimensions: layer norm and mean.
#include <algorithm>

#include "engine/aten_call.h"
#include "engine/lowerer.h"
#include "engine/node_checker.h"
#include "engine/onnx_node.h"
#include "engine/rows.h"
#include "engine/step_checker.h"
#include "engine/step_fields.h"
#include "engine/strided.h"

namespace fib::engine {
namespace {

// ---- Layer norm -----------------------------------------------------------------------------------------------------

void check_layer_norm(const NodeChecker& n) {
  n.attributes<LayerNorm>();
  n.require(!n.in(0).empty() && n.in(1) == Shape{n.in(0).back()} && n.in(1) == n.in(2), "weights do not fit");
  n.require_same_shape();
}

/// (x, shape, weight, bias, eps)
void record_layer_norm(AtenCall& c) {
  // Of a whole sample without weights, as images are brought to mean 0 and deviation 1.
  if (static_cast<int64_t>(c.integers(1).size()) == c.rank() - 1 && c.rank() > 2 && !c.given(2) && !c.given(3))
    return c.emit(Op::group_norm, {c.operand(0)}, GroupNorm{1, c.number(4)});
  c.require(c.integers(1).size() == 1 && c.given(2) && c.given(3), "has no weights or several dimensions");
  c.emit(Op::layer_norm, {c.operand(0), c.operand(2), c.operand(3)}, LayerNorm{c.number(4)});
}

constexpr AtenRule kLayerNormRules[] = {
    {"aten::layer_norm", record_layer_norm, [](const AtenCall& c) { return c.sizes(0); }}};

void lower_layer_norm(Lowerer& l, size_t n) {
  if (l.leave_norm_to_linear(n)) return;
  const Node& node = l.node(n);
  const Operand x = l.as_rows(l.view(node.inputs[0]));
  const Operand weight = l.view(node.inputs[1]), bias = l.view(node.inputs[2]);
  const Operand out = l.fresh(x.sizes);
  Step& s = l.add_step(StepKind::layer_norm);
  s.at(Role::x) = x, s.at(Role::weights) = weight, s.at(Role::bias) = bias, s.at(Role::out) = out;
  s.attributes = node.as<LayerNorm>();
  l.set(node.output, dense(out.buffer, l.shape(node.output)));
}

/// Before opset 17 in its parts.
OnnxName layer_norm_to_onnx(OnnxNode& node) {
  const auto eps = static_cast<float>(node.as<LayerNorm>().eps);
  const OnnxName x = node.in(0);
  if (node.writer().opset() >= 17)
    return node.node("LayerNormalization", {x, node.in(1), node.in(2)}, {{"axis", INT64_C(-1)}, {"epsilon", eps}});
  const std::vector<OnnxAttribute> last{{"axes", std::vector<int64_t>{-1}}};
  const OnnxName centered = node.node("Sub", {x, node.node("ReduceMean", {x}, last)});
  const OnnxName variance = node.node("ReduceMean", {node.node("Mul", {centered, centered})}, last);
  const OnnxName deviation = node.node("Sqrt", {node.node("Add", {variance, node.scalar(eps)})});
  const OnnxName scaled = node.node("Mul", {node.node("Div", {centered, deviation}), node.in(1)});
  return node.node("Add", {scaled, node.in(2)});
}

void check_layer_norm_step(const StepChecker& s) {
  s.need({Role::x, Role::weights, Role::bias});
  s.rank(Role::x, 2);
  s.same_sizes(Role::x, Role::out);
  s.dense_rows(Role::x), s.dense_rows(Role::out);
  s.whole(Role::weights, s.size(Role::x, 1));
  s.whole(Role::bias, s.size(Role::x, 1));
  s.require(s.buffer(Role::weights).type == TensorType::f32, "its weights are not float32");
  const double eps = s.attributes<LayerNorm>().eps;
  s.require(eps >= 0 && eps <= 1, "epsilon cannot be {}", eps);
}

void run_layer_norm(const Step& s, const Memory& m) {
  const Operand &x = s.at(Role::x), &out = s.at(Role::out);
  layer_norm({m.floats(x), x.strides[0], x.sizes[0], x.sizes[1], m.floats(s.at(Role::weights)),
              m.floats(s.at(Role::bias)), static_cast<float>(s.as<LayerNorm>().eps), m.floats(out), out.strides[0]});
}

void layer_norm_fields(StepFields& fields, Step& step) {
  edit_attributes<LayerNorm>(step, [&](LayerNorm& a) { fields.number("epsilon", a.eps); });
}

// ---- Mean -----------------------------------------------------------------------------------------------------------

void check_mean(const NodeChecker& n) {
  Shape expected = n.in(0);
  const std::vector<int64_t>& axes = n.attributes<Axes>().axes;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    n.require_axis(*axis);
    if (n.in(0)[static_cast<size_t>(*axis)].batched) n.refuse("it would mix samples");
    if (axis != axes.rbegin() && *axis >= axis[-1]) n.refuse("its axes are not ascending");
    expected.erase(expected.begin() + *axis);
  }
  n.require(expected == n.out(), "the shape is another");
}

/// (x, axes, keepdim)
void record_mean(AtenCall& c) {
  c.require(c.given(1), "is over everything");
  std::vector<int64_t> axes = c.axes(1), left;
  const std::vector<int64_t> sizes = c.sizes(0);
  std::sort(axes.begin(), axes.end());
  for (int64_t i = 0; i < c.rank(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), i)) left.push_back(sizes[static_cast<size_t>(i)]);
  }
  const ValueId id = c.add(Op::mean, {c.operand(0)}, left, Axes{axes});
  c.bind(c.flag(2) ? c.add(Op::reshape, {id}, c.output_sizes()) : id);
}

constexpr AtenRule kMeanRules[] = {{"aten::mean", record_mean}};

void lower_mean(Lowerer& l, size_t n) {
  const Node& node = l.node(n);
  const Operand x = l.view(node.inputs[0]);
  const auto& dropped = node.as<Axes>().axes;
  std::vector<int64_t> order;
  for (int64_t d = 0; d < static_cast<int64_t>(x.sizes.size()); ++d) {
    if (std::ranges::find(dropped, d) == dropped.end()) order.push_back(d);
  }
  order.insert(order.end(), dropped.begin(), dropped.end());
  const Operand out = l.fresh(l.shape(node.output));
  Step& s = l.add_step(StepKind::mean);
  s.at(Role::x) = permuted(x, order), s.at(Role::out) = out;
  l.set(node.output, out);
}

OnnxName mean_to_onnx(OnnxNode& node) {
  return node.node("ReduceMean", {node.in(0)}, {{"axes", node.as<Axes>().axes}, {"keepdims", INT64_C(0)}});
}

void check_mean_step(const StepChecker& s) {
  s.need({Role::x});
  const auto &from = s.at(Role::x).sizes, &to = s.at(Role::out).sizes;
  s.require(from.size() > to.size() && std::equal(to.begin(), to.end(), from.begin()), "x does not extend out");
}

/// Sums in float64, in the order of the elements.
BoundStep bind_mean(const Step& s, const Program&) {
  const Operand& x = s.at(Role::x);
  const size_t kept = s.at(Role::out).sizes.size(), dropped = x.sizes.size() - kept;
  const Operand rows = outer(x, dropped);
  Operand inside = x;
  inside.sizes.erase(inside.sizes.begin(), inside.sizes.begin() + static_cast<ptrdiff_t>(kept));
  inside.strides.erase(inside.strides.begin(), inside.strides.begin() + static_cast<ptrdiff_t>(kept));
  return
      [&s, positions = Positions<2>({&s.at(Role::out), &rows}), elements = Positions<1>({&inside})](const Memory& m) {
        float* const to = m.floats(s.at(Role::out));
        const float* const from = m.floats(s.at(Role::x));
        parallel_tasks(positions.count(), [&](int64_t i) {
          const auto at = positions.at(i);
          double sum = 0;
          for (int64_t e = 0; e < elements.count(); ++e) sum += static_cast<double>(from[at[1] + elements.at(e)[0]]);
          to[at[0]] = static_cast<float>(sum / static_cast<double>(elements.count()));
        });
      };
}

StepCost mean_cost(const Step& s, const Program&) { return {Checked(s.at(Role::x).elements()) * kElementWork}; }

}  // namespace

const Operator operators::layer_norm{.name = "layer_norm",
                                     .least_inputs = 3,
                                     .most_inputs = 3,
                                     .check = check_layer_norm,
                                     .aten = kLayerNormRules,
                                     .lower = lower_layer_norm,
                                     .onnx = layer_norm_to_onnx};

const StepType steps::layer_norm{
    .name = "layer_norm",
    .check = check_layer_norm_step,
    .bind = [](const Step& s, const Program&) -> BoundStep { return [&s](const Memory& m) { run_layer_norm(s, m); }; },
    .cost = cost_of_output,
    .fields = layer_norm_fields};

const Operator operators::mean{
    .name = "mean", .check = check_mean, .aten = kMeanRules, .lower = lower_mean, .onnx = mean_to_onnx};

const StepType steps::mean{.name = "mean", .check = check_mean_step, .bind = bind_mean, .cost = mean_cost};

}  // namespace fib::engine
