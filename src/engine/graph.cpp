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
    for (size_t n = 0; n < graph_.nodes.size(); ++n) check_node(n);
    for (const ValueId id : graph_.outputs) {
      if (!in_range(id) || !known_[static_cast<size_t>(id)])
        throw std::invalid_argument(fmt::format("graph: output value {} is not computed", id));
    }
  }

 private:
  const Graph& graph_;
  std::vector<bool> known_;

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
