// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <any>
#include <concepts>
#include <utility>

namespace fib::engine {

/// What an operator or a step has besides its operands: a value of the type that its file says, or nothing.
class Attributes {
 public:
  Attributes() = default;
  template <std::equality_comparable T>
  requires(!std::same_as<T, Attributes>)
      Attributes(T value)  // NOLINT(google-explicit-constructor): a node is written as {op, inputs, output, Conv2d{}}
      : value_(std::move(value)), equal_(&equal<T>) {}

  /// Null where it is of another type.
  template <class T>
  const T* get() const {
    return std::any_cast<T>(&value_);
  }
  friend bool operator==(const Attributes& a, const Attributes& b) {
    return a.equal_ == nullptr ? b.equal_ == nullptr : a.equal_(a.value_, b.value_);
  }

 private:
  template <class T>
  static bool equal(const std::any& a, const std::any& b) {
    const T *x = std::any_cast<T>(&a), *y = std::any_cast<T>(&b);
    return x != nullptr && y != nullptr && *x == *y;
  }

  std::any value_;
  bool (*equal_)(const std::any&, const std::any&) = nullptr;
};

}  // namespace fib::engine
