// SPDX-License-Identifier: Apache-2.0
// The attributes of a step in a file: one list of fields, from which they are written and read.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/program.h"

namespace fib::engine {

class StepFields {
 public:
  struct Range {
    int64_t least = 0, most = int64_t{1} << 40;
  };
  StepFields() = default;
  StepFields(const StepFields&) = delete;
  StepFields& operator=(const StepFields&) = delete;
  virtual ~StepFields() = default;

  // Each is written, or read and checked: std::runtime_error says what is accepted.
  virtual void integer(const char* name, int64_t& value, Range range) = 0;
  virtual void integer(const char* name, std::optional<int64_t>& value, Range range) = 0;
  virtual void number(const char* name, double& value) = 0;
  virtual void number(const char* name, std::optional<double>& value) = 0;
  virtual void flag(const char* name, bool& value) = 0;
  virtual void text(const char* name, std::string& value) = 0;
  virtual void pair(const char* name, std::array<int64_t, 2>& value, Range range) = 0;
  virtual void lists(const char* name, std::vector<std::vector<int64_t>>& value, Range range) = 0;
  /// Fields under a name of their own.
  virtual std::unique_ptr<StepFields> group(const char* name) = 0;
};

/// The attributes of a step: `body(T&)` names their fields.
template <class T, class Body>
void edit_attributes(Step& step, const Body& body) {
  const T* known = step.attributes.get<T>();
  T value = known == nullptr ? T() : *known;
  body(value);
  step.attributes = std::move(value);
}

}  // namespace fib::engine
