// SPDX-License-Identifier: Apache-2.0
// A call of an ATen operator while a model's forward is recorded, as an operator's rule sees it: without torch's types.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "engine/graph.h"

namespace fib::engine {

class AtenCall {
 public:
  AtenCall() = default;
  AtenCall(const AtenCall&) = delete;
  AtenCall& operator=(const AtenCall&) = delete;
  virtual ~AtenCall() = default;

  // ---- Arguments, in the order of ATen's schema ---------------------------------------------------------------------

  virtual bool given(size_t i) const = 0;
  virtual int64_t integer(size_t i) const = 0;
  virtual double number(size_t i) const = 0;
  virtual bool flag(size_t i) const = 0;
  virtual std::string text(size_t i) const = 0;
  virtual bool is_integers(size_t i) const = 0;
  virtual std::vector<int64_t> integers(size_t i) const = 0;
  /// Of a tensor.
  virtual std::vector<int64_t> sizes(size_t i) const = 0;
  /// A tensor, or a number as a constant; kNoValue for one that is left out.
  virtual ValueId operand(size_t i) = 0;
  /// A list of tensors without those that have no elements.
  virtual std::vector<ValueId> operands(size_t i) = 0;

  // ---- Outputs, which the call's own kernel has given their sizes ---------------------------------------------------

  virtual size_t outputs() const = 0;
  virtual std::vector<int64_t> output_sizes(size_t i = 0) const = 0;
  /// From now on the output is this value.
  virtual void bind(ValueId value, size_t output = 0) = 0;
  /// Adds a node whose output has these sizes.
  virtual ValueId add(Op op, std::vector<ValueId> inputs, const std::vector<int64_t>& sizes,
                      Attributes attributes = {}) = 0;

  /// Throws std::runtime_error that names the operator.
  [[noreturn]] virtual void refuse(const char* why) const = 0;

  // ---- What rules have in common ------------------------------------------------------------------------------------

  void require(bool good, const char* why) const {
    if (!good) refuse(why);
  }
  /// The whole call as one node.
  void emit(Op op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    bind(add(op, std::move(inputs), output_sizes(), std::move(attributes)));
  }
  int64_t rank() const { return static_cast<int64_t>(sizes(0).size()); }
  /// Counted from the front.
  int64_t axis(size_t i, int64_t dims) const { return integer(i) < 0 ? integer(i) + dims : integer(i); }
  std::vector<int64_t> axes(size_t i) const {
    std::vector<int64_t> list = integers(i);
    for (int64_t& a : list) a += a < 0 ? rank() : 0;
    return list;
  }
  std::array<int64_t, 2> pair(size_t i) const {
    require(is_integers(i), "has text where numbers are expected");
    const std::vector<int64_t> list = integers(i);
    if (list.size() == 1) return {list[0], list[0]};
    require(list.size() == 2, "is not two-dimensional");
    return {list[0], list[1]};
  }
};

}  // namespace fib::engine
