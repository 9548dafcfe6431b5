// SPDX-License-Identifier: Apache-2.0
// What an operator's check is given: a node of a graph whose inputs are there.
#pragma once

#include <string>

#include "engine/graph.h"

namespace fib::engine {

class NodeChecker {
 public:
  NodeChecker(const Graph& graph, size_t place) : graph_(graph), place_(place) {}

  const Node& node() const { return graph_.nodes[place_]; }
  const Shape& in(size_t i) const { return graph_.shape(node().inputs[i]); }
  const Shape& out() const { return graph_.shape(node().output); }
  /// Whether an optional input is given.
  bool has(size_t i) const { return i < node().inputs.size() && node().inputs[i] != kNoValue; }

  /// Throws std::invalid_argument that names the node.
  [[noreturn]] void refuse(const std::string& why) const;
  /// Refuses with the shapes of inputs and output.
  void require(bool good, const char* what) const;
  /// Of the first input.
  void require_axis(int64_t axis) const;
  void require_same_shape() const;

  template <class T>
  const T& attributes() const {
    const T* found = node().attributes.get<T>();
    if (found == nullptr) refuse("its attributes are of another operator");
    return *found;
  }

 private:
  const Graph& graph_;
  size_t place_;
};

}  // namespace fib::engine
