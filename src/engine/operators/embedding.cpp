// SPDX-License-Identifier: Apache-2.0
// Tokens as rows of a table, with the rows of their places where these are learned.
//
// Letters: n tokens, V symbols, P places, D channels.
#include <algorithm>

#include "engine/lowerer.h"
#include "engine/node_checker.h"
#include "engine/onnx_node.h"
#include "engine/step_checker.h"

namespace fib::engine {
namespace {

void check_embedding(const NodeChecker& n) {
  const Shape &tokens = n.in(0), &table = n.in(1);
  n.require(tokens.size() == 1 && table.size() == 2 && n.out() == Shape{tokens[0], table[1]}, "the table does not fit");
  n.require(!n.has(2) || (n.in(2).size() == 2 && n.in(2)[1] == table[1]), "the places do not fit");
}

void lower_embedding(Lowerer& l, size_t n) {
  const Node& node = l.node(n);
  const Operand out = l.fresh(l.shape(node.output));
  const Operand tokens = l.view(node.inputs[0]), table = l.view(node.inputs[1]);
  const Operand places = node.inputs.size() > 2 && node.inputs[2] != kNoValue ? l.view(node.inputs[2]) : Operand{};
  Step& s = l.add_step(StepKind::embedding);
  s.at(Role::x) = tokens, s.at(Role::y) = table, s.at(Role::residual) = places, s.at(Role::out) = out;
  l.set(node.output, out);
}

std::string embedding_to_onnx(OnnxNode&) { throw std::runtime_error("a decoder is not written as ONNX"); }

// ---- The step -------------------------------------------------------------------------------------------------------

void check_embedding_step(const StepChecker& s) {
  s.need({Role::x, Role::y});
  s.rank(Role::x, 1), s.rank(Role::y, 2), s.rank(Role::out, 2);
  s.dense_rows(Role::y), s.dense_rows(Role::out);
  s.same(s.size(Role::x, 0), s.size(Role::out, 0), "tokens");
  s.same(s.size(Role::y, 1), s.size(Role::out, 1), "channels");
  if (!s.step().has(Role::residual)) return;
  s.rank(Role::residual, 2), s.dense_rows(Role::residual);
  s.same(s.size(Role::residual, 1), s.size(Role::out, 1), "channels of places");
}

/// Whatever a file makes of it: a row of the table.
int64_t row_within(float token, int64_t rows) {
  const float last = static_cast<float>(rows - 1);
  return token >= 1 ? std::min(static_cast<int64_t>(std::min(token, last)), rows - 1) : 0;
}

BoundStep bind_embedding(const Step& s, const Program&) {
  return [&s](const Memory& m) {
    const Operand &x = s.at(Role::x), &table = s.at(Role::y), &places = s.at(Role::residual), &out = s.at(Role::out);
    for (int64_t t = 0; t < x.sizes[0]; ++t) {
      const float* const row =
          m.floats(table) + row_within(m.floats(x)[t * x.strides[0]], table.sizes[0]) * table.strides[0];
      float* const to = m.floats(out) + t * out.strides[0];
      std::copy_n(row, out.sizes[1], to);
      if (!places.given()) continue;
      const float* const place = m.floats(places) + std::min(m.position + t, places.sizes[0] - 1) * places.strides[0];
      for (int64_t c = 0; c < out.sizes[1]; ++c) to[c] += place[c];
    }
  };
}

}  // namespace

const Operator operators::embedding{.name = "embedding",
                                    .least_inputs = 2,
                                    .most_inputs = 3,
                                    .optional_inputs = true,
                                    .check = check_embedding,
                                    .aten = {},
                                    .lower = lower_embedding,
                                    .onnx = embedding_to_onnx};

const StepType steps::embedding{
    .name = "embedding", .check = check_embedding_step, .bind = bind_embedding, .cost = cost_of_output};

}  // namespace fib::engine
