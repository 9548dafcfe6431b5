// SPDX-License-Identifier: Apache-2.0
// Linear layers, with what they take along: a layer norm before them; bias, GELU or ReLU, residual behind. How they are
// lowered is in lower_products.cpp, the products are in product.h.
#include <algorithm>
#include <stdexcept>

#include "engine/aten_call.h"
#include "engine/lowerer.h"
#include "engine/node_checker.h"
#include "engine/onnx_node.h"
#include "engine/operators/products.h"
#include "engine/rows.h"
#include "engine/step_checker.h"
#include "engine/step_fields.h"

namespace fib::engine {
namespace {

void check_linear(const NodeChecker& n) {
  const Shape &x = n.in(0), &w = n.in(1);
  n.require(!x.empty() && w.size() == 2 && x.back() == w[1], "weights do not fit");
  Shape expected = x;
  expected.back() = w[0];
  n.require(expected == n.out() && (!n.has(2) || n.in(2) == Shape{w[0]}), "weights do not fit");
}

constexpr AtenRule kLinearRules[] = {
    {"aten::linear",
     [](AtenCall& c) {
       c.emit(Op::linear, {c.operand(0), c.operand(1), c.operand(2)});
     }},
};

/// ONNX's product takes the weights [N,K] the other way round.
template <class T>
std::vector<T> turned(std::span<const T> weights, int64_t n, int64_t k) {
  std::vector<T> out(weights.size());
  for (int64_t i = 0; i < n * k; ++i) out[static_cast<size_t>(i % k * n + i / k)] = weights[static_cast<size_t>(i)];
  return out;
}

/// Bytes of x, whose scale and zero are computed as the model runs, times bytes of the weights: the form that ONNX
/// Runtime turns into one operator, with the bias that is added next.
OnnxName int8_product_to_onnx(OnnxNode& node, const Value& weight, int64_t n, int64_t k) {
  constexpr int64_t kFloat = 1;  // of ONNX's types
  const QuantizedWeights quantized = quantize_weights(weight.elements(), n, k);
  const OnnxNode::Quantized x = node.quantized(0);
  const OnnxName weights =
      node.writer().signed_bytes({k, n}, turned<int8_t>(quantized.values, n, k), weight.name + "_int8");
  const OnnxName sums = node.node("MatMulInteger", {x.values, weights, x.zero});
  const OnnxName scale = node.node("Mul", {x.scale, node.floats({n}, quantized.scale, weight.name + "_scale")});
  return node.node("Mul", {node.node("Cast", {sums}, {{"to", kFloat}}), scale});
}

/// As in compiled models: a classifier stays in float32.
bool exported_in_int8(const OnnxNode& node, int64_t k) {
  int64_t rows = 1;
  for (const Dim& d : std::span(node.out_shape()).first(node.out_shape().size() - 1)) rows *= d.count;
  return node.form().int8 && rows > 1 && k <= kMaxInt8Depth;
}

OnnxName linear_to_onnx(OnnxNode& node) {
  const Value& weight = node.value(1);
  if (!weight.constant()) throw std::runtime_error("a linear map whose weights are computed");
  const int64_t n = weight.shape[0].count, k = weight.shape[1].count;
  const OnnxName product =
      exported_in_int8(node, k)
          ? int8_product_to_onnx(node, weight, n, k)
          : node.node("MatMul", {node.in(0), node.floats({k, n}, turned<float>(weight.elements(), n, k), weight.name)});
  return node.has(2) ? node.node("Add", {product, node.in(2)}) : product;
}

// ---- The step -------------------------------------------------------------------------------------------------------

void check_linear_step(const StepChecker& s) {
  s.need({Role::x, Role::weights});
  s.rank(Role::x, 2), s.rank(Role::out, 2);
  s.dense_rows(Role::x), s.dense_rows(Role::out);
  s.same(s.size(Role::x, 0), s.size(Role::out, 0), "rows of x and out");
  const int64_t columns = s.size(Role::out, 1), depth = s.size(Role::x, 1);
  const TensorType type = s.buffer(Role::weights).type;
  const bool int8 = type == TensorType::i8;
  s.require(int8 || type == TensorType::f32 || type == TensorType::bf16,
            "its weights are {}, accepted are F32, BF16 and I8", tensor_type_name(type));
  s.require(int8 == s.step().has(Role::scale), "int8 weights have a scale, and no others");
  s.require(!int8 || depth <= kMaxInt8Depth, "depth {} of int8, accepted is up to {}", depth, kMaxInt8Depth);
  const Checked packed = packed_elements(columns, int8                       ? packed_depth<int8_t>(depth)
                                                  : type == TensorType::bf16 ? packed_depth<Bfloat16>(depth)
                                                                             : depth);
  s.whole(Role::weights, packed);
  constexpr int64_t kPadding = 64;  // to a cache line
  s.require(s.buffer(Role::weights).elements < packed + kPadding, "its weights are of another shape");
  s.whole(Role::scale, panel_columns(columns) * 2);
  s.require(s.step().has(Role::norm_weights) == s.step().has(Role::norm_bias), "half a layer norm");
  if (s.step().has(Role::norm_weights)) {
    s.require(type != TensorType::f32, "a layer norm before weights of float32");
    s.whole(Role::norm_weights, depth), s.whole(Role::norm_bias, depth);
    const double eps = s.attributes<LayerNorm>().eps;
    s.require(eps >= 0 && eps <= 1, "epsilon cannot be {}", eps);
  }
  s.epilogue(columns);
  s.need_scratch();
}

/// Of low precision: rows as the product reads them, which are of float32 where bfloat16 cannot be multiplied.
int64_t linear_scratch(const Step& s, const Program& program) {
  if (program.buffers[static_cast<size_t>(s.at(Role::weights).buffer)].type == TensorType::f32) return 0;
  const std::vector<int64_t>& x = s.at(Role::x).sizes;
  const int64_t normed = s.has(Role::norm_weights) ? (Checked(x[0]) * x[1]).value() : 0;
  return std::max(converted_floats(x[0], x[1]), normed);
}

ProductShape linear_shape(const Step& s) {
  return {s.at(Role::x).sizes[0], s.at(Role::out).sizes[1], s.at(Role::x).sizes[1]};
}

RowSource linear_rows(const Step& s, const Memory& m) {
  const Operand& x = s.at(Role::x);
  RowSource rows{m.floats(x), x.strides[0], x.sizes[0], x.sizes[1]};
  if (!s.has(Role::norm_weights)) return rows;
  rows.norm_weight = m.floats(s.at(Role::norm_weights)), rows.norm_bias = m.floats(s.at(Role::norm_bias));
  rows.epsilon = static_cast<float>(s.as<LayerNorm>().eps);
  return rows;
}

void run_float32(const Step& s, const Memory& m) {
  FloatProduct p;
  set_product(p, s, m, linear_shape(s));
  p.x = m.floats(s.at(Role::x)), p.x_stride = s.at(Role::x).strides[0];
  p.weights = m.floats(s.at(Role::weights));
  run_product(p);
}

void run_bfloat16(const Step& s, const Memory& m) {
  Bfloat16Product p;
  set_product(p, s, m, linear_shape(s));
  const RowSource rows = linear_rows(s, m);
  float* const room = m.floats(s.at(Role::scratch));
  p.format = row_format<Bfloat16>(rows.depth);
  p.x = rows.x, p.x_stride = rows.x_stride;
  p.weights = m.values<Bfloat16>(s.at(Role::weights));
  if (p.format == RowFormat::bfloat16) {
    p.rows = converted_rows(room, rows.rows, rows.depth);
    return run_linear(rows, p);
  }
  if (rows.norm_weight != nullptr) {
    layer_norm({rows.x, rows.x_stride, rows.rows, rows.depth, rows.norm_weight, rows.norm_bias, rows.epsilon, room,
                rows.depth});
    p.x = room, p.x_stride = rows.depth;
  }
  run_product(p);
}

void run_int8(const Step& s, const Memory& m) {
  Int8Product p;
  set_product(p, s, m, linear_shape(s));
  const RowSource rows = linear_rows(s, m);
  p.format = row_format<int8_t>(rows.depth);
  p.rows = converted_rows(m.floats(s.at(Role::scratch)), rows.rows, rows.depth);
  p.weights = m.values<int8_t>(s.at(Role::weights)), p.column_scale = m.floats(s.at(Role::scale));
  p.column_sum = p.column_scale + panels_of(p.shape.columns) * kPanelColumns;
  run_linear(rows, p);
}

BoundStep bind_linear(const Step& s, const Program& program) {
  const TensorType weights = program.buffers[static_cast<size_t>(s.at(Role::weights).buffer)].type;
  const auto run = weights == TensorType::i8 ? run_int8 : weights == TensorType::bf16 ? run_bfloat16 : run_float32;
  return [&s, run](const Memory& m) { run(s, m); };
}

StepCost linear_cost(const Step& s, const Program& program) {
  const auto [rows, columns, depth] = linear_shape(s);
  StepCost cost{Checked(rows) * (Checked(columns) * depth + (Checked(columns) + depth) * kElementWork)};
  cost.products = Checked(rows) * columns * depth;
  cost.factors = program.buffers[static_cast<size_t>(s.at(Role::weights).buffer)].type;
  return cost;
}

void linear_fields(StepFields& fields, Step& step) {
  if (!step.has(Role::norm_weights)) return;
  edit_attributes<LayerNorm>(step, [&](LayerNorm& a) { fields.number("epsilon", a.eps); });
}

}  // namespace

const Operator operators::linear{.name = "linear",
                                 .least_inputs = 2,
                                 .most_inputs = 3,
                                 .optional_inputs = true,
                                 .check = check_linear,
                                 .aten = kLinearRules,
                                 .lower = [](Lowerer& l, size_t n) { l.lower_linear(n); },
                                 .onnx = linear_to_onnx};

const StepType steps::linear{.name = "linear",
                             .check = check_linear_step,
                             .bind = bind_linear,
                             .cost = linear_cost,
                             .fields = linear_fields,
                             .scratch = linear_scratch};

}  // namespace fib::engine
