// SPDX-License-Identifier: Apache-2.0
// Products of two computed matrices. How they are lowered is in lower_products.cpp.
#include <omp.h>

#include <algorithm>

#include "engine/aten_call.h"
#include "engine/lowerer.h"
#include "engine/node_checker.h"
#include "engine/onnx_node.h"
#include "engine/operators/products.h"
#include "engine/step_checker.h"
#include "engine/strided.h"

namespace fib::engine {
namespace {

void check_matmul(const NodeChecker& n) {
  const Shape &a = n.in(0), &b = n.in(1);
  n.require(a.size() >= 2 && b.size() >= 2 && a.back() == b[b.size() - 2], "the products do not fit");
  Shape expected = broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  expected.push_back(a[a.size() - 2]);
  expected.push_back(b.back());
  n.require(expected == n.out(), "the products do not fit");
}

void record_matmul(AtenCall& c) {
  c.require(c.rank() >= 2 && c.sizes(1).size() >= 2, "multiplies vectors");
  c.emit(Op::matmul, {c.operand(0), c.operand(1)});
}

constexpr AtenRule kMatmulRules[] = {
    {"aten::matmul", record_matmul}, {"aten::bmm", record_matmul}, {"aten::mm", record_matmul}};

// ---- The step -------------------------------------------------------------------------------------------------------

void check_matmul_step(const StepChecker& s) {
  s.need({Role::x, Role::y});
  const size_t last = s.at(Role::out).sizes.size() - 1;
  s.require(last >= 1, "out is no matrix");
  s.rank(Role::x, last + 1), s.rank(Role::y, last + 1);
  for (size_t d = 0; d + 1 < last; ++d) {
    s.same(s.size(Role::x, d), s.size(Role::out, d), "samples of x");
    s.same(s.size(Role::y, d), s.size(Role::out, d), "samples of y");
  }
  s.same(s.size(Role::x, last - 1), s.size(Role::out, last - 1), "rows");
  s.same(s.size(Role::x, last), s.size(Role::y, last - 1), "depth");
  s.same(s.size(Role::y, last), s.size(Role::out, last), "columns");
  s.dense_rows(Role::x), s.dense_rows(Role::out);
  const Checked packed = packed_elements(s.size(Role::y, last), s.size(Role::x, last));
  s.require(packed <= kMostElements, "y takes {} values when it is packed", packed.value());
}

/// y [K,N] as run_product wants its weights.
void pack_matrix(const float* y, int64_t row, int64_t column, const ProductShape& shape, float* packed) {
  for (int64_t p = 0; p < panels_of(shape.columns); ++p) {
    const int64_t first = p * kPanelColumns, count = std::min(kPanelColumns, shape.columns - first);
    for (int64_t k = 0; k < shape.depth; ++k, packed += kPanelColumns) {
      for (int64_t n = 0; n < count; ++n) packed[n] = y[k * row + (first + n) * column];
      std::fill(packed + count, packed + kPanelColumns, 0.0f);
    }
  }
}

BoundStep bind_matmul(const Step& s, const Program&) {
  const Operand out = outer(s.at(Role::out), 2), x = outer(s.at(Role::x), 2), y = outer(s.at(Role::y), 2);
  return [&s, matrices = Positions<3>({&out, &x, &y})](const Memory& m) {
    const size_t last = s.at(Role::out).sizes.size() - 1;
    const auto &xs = s.at(Role::x), &ys = s.at(Role::y);
    const ProductShape shape{xs.sizes[last - 1], ys.sizes[last], xs.sizes[last]};
    parallel_tasks(matrices.count(), [&](int64_t i) {
      thread_local std::vector<float> packed;
      packed.resize(static_cast<size_t>(panels_of(shape.columns) * kPanelColumns * shape.depth));
      const auto at = matrices.at(i);
      pack_matrix(m.floats(ys) + at[2], ys.strides[last - 1], ys.strides[last], shape, packed.data());
      FloatProduct p;
      set_product(p, s, m, shape);
      p.out += at[0];
      p.x = m.floats(xs) + at[1], p.x_stride = xs.strides[last - 1], p.weights = packed.data();
      run_product(p);
    });
  };
}

/// Each thread packs a matrix of its own.
StepCost matmul_cost(const Step& s, const Program&) {
  const std::vector<int64_t>& out = s.at(Role::out).sizes;
  const size_t last = out.size() - 1;
  const int64_t depth = s.at(Role::x).sizes[last];
  const Checked packed = packed_elements(out[last], depth), matrices = checked_product(std::span(out).first(last - 1));
  const int64_t at_once = std::min<int64_t>(matrices.value(), omp_get_max_threads());
  return {matrices * packed * (Checked(out[last - 1]) + kElementWork), packed * at_once * sizeof(float), 0,
          Checked(s.at(Role::out).elements()) * depth};
}

}  // namespace

const Operator operators::matmul{.name = "matmul",
                                 .least_inputs = 2,
                                 .most_inputs = 2,
                                 .check = check_matmul,
                                 .aten = kMatmulRules,
                                 .lower = [](Lowerer& l, size_t n) { l.lower_matmul(l.node(n)); },
                                 .onnx =
                                     [](OnnxNode& node) {
                                       return node.node("MatMul", {node.in(0), node.in(1)});
                                     }};

const StepType steps::matmul{.name = "matmul", .check = check_matmul_step, .bind = bind_matmul, .cost = matmul_cost};

}  // namespace fib::engine
