// SPDX-License-Identifier: Apache-2.0
// What a step's check is given: a step whose operands each lie inside their buffers. Sizes are untrusted: they are
// multiplied as Checked alone.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <stdexcept>

#include "engine/program.h"

namespace fib::engine {

/// Room that no model needs: 4 billion numbers.
inline constexpr int64_t kMostElements = int64_t{1} << 32;

/// Columns filled up to whole panels, and the values of a packed matrix.
Checked panel_columns(int64_t columns);
Checked packed_elements(int64_t columns, Checked depth);

class StepChecker {
 public:
  /// A step of the program, or of the body of the one at this place.
  StepChecker(const Program& program, size_t place, const Step& step) : program_(program), place_(place), step_(step) {}
  StepChecker of_body(const Step& inner) const { return {program_, place_, inner}; }

  const Step& step() const { return step_; }
  const Operand& at(Role role) const { return step().at(role); }
  const Buffer& buffer(const Operand& o) const { return program_.buffers[static_cast<size_t>(o.buffer)]; }
  const Buffer& buffer(Role role) const { return buffer(at(role)); }
  int64_t size(Role role, size_t d) const { return at(role).sizes[d]; }

  template <class... Values>
  void require(bool good, fmt::format_string<Values...> what, Values&&... values) const {
    if (good) return;
    throw std::runtime_error(fmt::format("step {} ({}): {}", place_, name_of(step().kind),
                                         fmt::format(what, std::forward<Values>(values)...)));
  }
  template <class T>
  const T& attributes() const {
    const T* found = step().attributes.get<T>();
    require(found != nullptr, "its attributes are of another step");
    return *found;
  }

  /// These operands and the output.
  void need(std::initializer_list<Role> roles) const;
  void rank(Role role, size_t dimensions) const;
  void same(int64_t a, int64_t b, const char* what) const { require(a == b, "{}: {} and {}", what, a, b); }
  void same_sizes(Role a, Role b) const;
  /// Consecutive values along the last dimension.
  void dense_rows(Role role) const;
  /// So many values from the operand's beginning, where it is given.
  void whole(Role role, Checked elements) const;
  /// What the step's type asks for.
  void need_scratch() const;
  /// What follows a product: a function, a bias for the columns, a residual.
  void epilogue(int64_t columns) const;

 private:
  const Program& program_;
  size_t place_;
  const Step& step_;
};

}  // namespace fib::engine
