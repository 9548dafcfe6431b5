// SPDX-License-Identifier: Apache-2.0
#include "engine/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
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
    if (graph_.nodes[n].repeated && !in_loop_) begin_loop();
    if (!graph_.nodes[n].repeated && in_loop_) end_loop();
    if (!done_[n]) row_of(graph_.nodes[n].op).lower(*this, n);
  }
  if (in_loop_) end_loop();
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

Operand Lowerer::state(const std::vector<int64_t>& shape) {
  const int64_t elements = product_of(shape), offset = program_.state_elements;
  program_.state_elements += (elements + 15) / 16 * 16;  // a cache line
  return dense(add_buffer({Buffer::Kind::state, elements, offset, {}, TensorType::f32}), shape);
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
  const int64_t elements = scratch_elements(s, program_);
  if (elements > 0) s.at(Role::scratch) = dense(arena(elements), {elements});
}

void Lowerer::wrap_last(size_t steps, StepKind kind, Attributes attributes) {
  const auto first = program_.steps.end() - static_cast<ptrdiff_t>(steps);
  Step loop;
  loop.kind = kind;
  loop.attributes = std::move(attributes);
  loop.body.assign(std::make_move_iterator(first), std::make_move_iterator(program_.steps.end()));
  program_.steps.erase(first, program_.steps.end());
  program_.steps.push_back(std::move(loop));
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

// ---- The loop -------------------------------------------------------------------------------------------------------

/// The state has a buffer of its own, and each row is copied from its table at the beginning of each time.
void Lowerer::begin_loop() {
  const GraphLoop& loop = *graph_.loop;
  in_loop_ = true;
  set(loop.state, fresh(shape(loop.state)));
  copy(view(loop.first), view(loop.state));
  loop_begin_ = program_.steps.size();
  for (const GraphLoop::Row& row : loop.rows) {
    const ptrdiff_t axis = constant(row.table) ? 0 : 1;
    Operand from = view(row.table);
    from.advance = from.strides[static_cast<size_t>(axis)];
    from.sizes.erase(from.sizes.begin() + axis), from.strides.erase(from.strides.begin() + axis);
    set(row.row, fresh(shape(row.row)));
    copy(from, view(row.row));
  }
}

void Lowerer::end_loop() {
  in_loop_ = false;
  copy(view(graph_.loop->next), view(graph_.loop->state));
  wrap_last(program_.steps.size() - loop_begin_, StepKind::repeat, Repeat{graph_.loop->count});
}

// ---- The ends -------------------------------------------------------------------------------------------------------

void Lowerer::open_input() {
  const ValueId input = graph_.inputs.at(0);
  const std::vector<int64_t> one = shape(input);
  const bool tokens = one.size() == 1 && !graph_.shape(input)[0].batched, numbers = one.size() == 2 && one[0] == 1;
  if (!tokens && !numbers && ((one.size() != 4 && one.size() != 5) || one[0] != 1))
    throw std::invalid_argument(fmt::format(
        "a model must take images [B,C,h,w], clips [B,C,T,h,w], tokens [n] or numbers [B,N], this one takes {}",
        to_string(graph_.shape(input))));
  program_.sample.assign(one.begin() + (tokens || numbers ? 0 : 1), one.end());
  set(input, dense(add_buffer({Buffer::Kind::input, product_of(one), 0, {}, TensorType::f32}), one));
}

void Lowerer::write_output() {
  const Operand logits = view(graph_.outputs.at(0));
  program_.classes = logits.elements();
  copy(logits, dense(add_buffer({Buffer::Kind::output, program_.classes, 0, {}, TensorType::f32}), logits.sizes));
}

std::optional<size_t> Lowerer::sole_consumer(ValueId id) const {
  const auto& readers = consumers_[static_cast<size_t>(id)];
  if (readers.size() != 1 || ends_run(id) || graph_.nodes[readers[0]].repeated != in_loop_) return std::nullopt;
  return readers[0];
}

/// Whether a value is read by more than nodes: it is an output, or the loop's.
bool Lowerer::ends_run(ValueId id) const {
  if (std::ranges::find(graph_.outputs, id) != graph_.outputs.end()) return true;
  if (!graph_.loop) return false;
  const GraphLoop& loop = *graph_.loop;
  return id == loop.first || id == loop.next ||
         std::ranges::find(loop.rows, id, &GraphLoop::Row::table) != loop.rows.end();
}

Program lower(const Graph& graph, Precision precision, TensorStore& tensors) {
  validate(graph);
  return Lowerer(graph, precision, tensors).run();
}

}  // namespace fib::engine
