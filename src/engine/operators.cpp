// SPDX-License-Identifier: Apache-2.0
#include "engine/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace fib::engine {

const Operator& row_of(Op op) {
  const auto* found = std::ranges::find(kOperators, op, &OperatorRow::op);
  if (found == std::end(kOperators))
    throw std::invalid_argument(fmt::format("no operator has number {}", static_cast<int>(op)));
  return *found->row;
}

const StepType& row_of(StepKind kind) {
  const auto* found = std::ranges::find(kSteps, kind, &StepRow::kind);
  if (found == std::end(kSteps))
    throw std::invalid_argument(fmt::format("no step has number {}", static_cast<int>(kind)));
  return *found->row;
}

StepKind step_kind(const std::string& name) {
  const auto* found = std::ranges::find_if(kSteps, [&](const StepRow& s) { return s.row->name == name; });
  if (found == std::end(kSteps)) throw std::invalid_argument(fmt::format("no step is called '{}'", name));
  return found->kind;
}

Function function_named(const std::string& name) {
  const auto* found = std::ranges::find(kFunctionNames, name);
  if (found == std::end(kFunctionNames)) throw std::invalid_argument(fmt::format("no function is called '{}'", name));
  return static_cast<Function>(found - std::begin(kFunctionNames));
}

}  // namespace fib::engine
