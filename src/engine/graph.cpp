// SPDX-License-Identifier: Apache-2.0
#include "engine/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/checked.h"
#include "engine/node_checker.h"

namespace fib::engine {
namespace {

constexpr Dim kOne{1, false};

/// Checks one graph, node by node.
class Validator {
 public:
  explicit Validator(const Graph& graph) : graph_(graph), known_(graph.values.size()) {}

  void run() {
    check_values();
    for (const ValueId id : graph_.inputs) define(id, "the inputs");
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const bool repeated = graph_.nodes[n].repeated;
      if (repeated && (n == 0 || !graph_.nodes[n - 1].repeated)) begin_loop();
      check_node(n);
      if (repeated && (n + 1 == graph_.nodes.size() || !graph_.nodes[n + 1].repeated)) end_loop();
    }
    if (graph_.loop && loops_ != 1) throw std::invalid_argument("graph: a loop whose nodes are not one run");
    for (const ValueId id : graph_.outputs) {
      if (!in_range(id) || !known_[static_cast<size_t>(id)])
        throw std::invalid_argument(fmt::format("graph: output value {} is not computed", id));
    }
  }

 private:
  const Graph& graph_;
  std::vector<bool> known_;
  int loops_ = 0;

  bool in_range(ValueId id) const { return id >= 0 && static_cast<size_t>(id) < graph_.values.size(); }

  void check_values() {
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const Value& value = graph_.values[i];
      const auto bad = [&](const Dim& d) { return d.count < 1 || (d.batched && value.constant()); };
      if (std::any_of(value.shape.begin(), value.shape.end(), bad))
        throw std::invalid_argument(fmt::format("graph: value {} cannot be {}", i, to_string(value.shape)));
      known_[i] = value.constant();
    }
  }

  void define(ValueId id, const std::string& where) {
    if (!in_range(id)) throw std::invalid_argument(fmt::format("graph: {} name value {}", where, id));
    if (known_[static_cast<size_t>(id)])
      throw std::invalid_argument(fmt::format("graph: {} compute value {} a second time", where, id));
    known_[static_cast<size_t>(id)] = true;
  }

  bool is_known(ValueId id) const { return in_range(id) && known_[static_cast<size_t>(id)]; }

  void begin_loop() {
    if (!graph_.loop || ++loops_ > 1) throw std::invalid_argument("graph: repeated nodes that are in no loop");
    const GraphLoop& loop = *graph_.loop;
    const auto good = [](bool fact, const char* what) {
      if (!fact) throw std::invalid_argument(fmt::format("graph: the loop's {}", what));
    };
    good(loop.count >= 1, "count is not positive");
    good(is_known(loop.first), "first state is not computed");
    define(loop.state, "the loop");
    good(graph_.shape(loop.state) == graph_.shape(loop.first), "states differ in shape");
    for (const GraphLoop::Row& row : loop.rows) {
      good(is_known(row.table), "table is not computed");
      define(row.row, "the loop");
      Shape table = graph_.shape(row.table);
      const size_t axis = graph_.values[static_cast<size_t>(row.table)].constant() ? 0 : 1;
      good(table.size() > axis && table[axis] == Dim{loop.count, false}, "table has another number of rows");
      table.erase(table.begin() + static_cast<ptrdiff_t>(axis));
      good(table == graph_.shape(row.row), "row has another shape than its table");
    }
  }

  void end_loop() {
    const GraphLoop& loop = *graph_.loop;
    if (!is_known(loop.next) || graph_.shape(loop.next) != graph_.shape(loop.state))
      throw std::invalid_argument("graph: the loop's next state is not computed, or has another shape");
  }

  void check_node(size_t n) {
    const NodeChecker node(graph_, n);
    const Operator& row = row_of(node.node().op);
    const size_t count = node.node().inputs.size();
    if (count < row.least_inputs || count > row.most_inputs) node.refuse(fmt::format("it has {} inputs", count));
    for (size_t i = 0; i < count; ++i) check_input(node, i, row.optional_inputs && i >= row.least_inputs);
    define(node.node().output, fmt::format("node {} ({}) and others", n, row.name));
    row.check(node);
  }

  void check_input(const NodeChecker& node, size_t i, bool optional) const {
    const ValueId id = node.node().inputs[i];
    if (id == kNoValue && optional) return;
    if (!in_range(id)) node.refuse(fmt::format("input {} is value {}, of {}", i, id, graph_.values.size()));
    if (!known_[static_cast<size_t>(id)]) node.refuse(fmt::format("input {} is not computed yet", i));
  }
};

}  // namespace

std::vector<int64_t> sizes(const Shape& shape, int64_t batch) {
  std::vector<int64_t> result;
  result.reserve(shape.size());
  for (const Dim& d : shape) result.push_back(d.at(batch));
  return result;
}

int64_t elements(const Shape& shape, int64_t batch) { return checked_product(sizes(shape, batch)).value(); }

std::string to_string(const Shape& shape) {
  std::vector<std::string> parts;
  parts.reserve(shape.size());
  for (const Dim& d : shape) {
    const std::string count = d.batched && d.count == 1 ? "" : fmt::format("{}", d.count);
    parts.push_back(count + (d.batched ? "B" : ""));
  }
  return fmt::format("[{}]", fmt::join(parts, ","));
}

Shape broadcast(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()), kOne);
  for (size_t i = 0; i < result.size(); ++i) {
    const Dim x = i < a.size() ? a[a.size() - 1 - i] : kOne, y = i < b.size() ? b[b.size() - 1 - i] : kOne;
    if (x != y && x != kOne && y != kOne) return {};
    result[result.size() - 1 - i] = x == kOne ? y : x;
  }
  return result;
}

void NodeChecker::refuse(const std::string& why) const {
  throw std::invalid_argument(fmt::format("graph: node {} ({}): {}", place_, name_of(node().op), why));
}

void NodeChecker::require(bool good, const char* what) const {
  if (good) return;
  std::vector<std::string> shapes;
  for (const ValueId id : node().inputs) shapes.push_back(id == kNoValue ? "none" : to_string(graph_.shape(id)));
  refuse(fmt::format("{}; inputs {}, output {}", what, fmt::join(shapes, " "), to_string(out())));
}

void NodeChecker::require_axis(int64_t axis) const {
  if (axis < 0 || axis >= static_cast<int64_t>(in(0).size()))
    refuse(fmt::format("there is no axis {} in {}", axis, to_string(in(0))));
}

void NodeChecker::require_same_shape() const { require(in(0) == out(), "the shape changes"); }

void validate(const Graph& graph) { Validator(graph).run(); }

}  // namespace fib::engine
