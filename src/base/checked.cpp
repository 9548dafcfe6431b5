// SPDX-License-Identifier: Apache-2.0
#include "base/checked.h"

#include <stdexcept>

namespace fib {

Checked::Checked(bool overflow, Checked result) : value_(result.value_) {
  if (overflow) throw std::overflow_error("its sizes multiply or add up to more than 63 bits hold");
}

Checked checked_product(std::span<const int64_t> sizes) {
  Checked product = 1;
  for (const int64_t size : sizes) product *= size;
  return product;
}

std::optional<int64_t> checked_bytes(std::span<const int64_t> shape, int64_t item_size) {
  int64_t product = item_size;
  bool empty = false;
  for (const int64_t dimension : shape) {
    if (dimension < 0) return std::nullopt;
    if (dimension == 0)
      empty = true;
    else if (__builtin_mul_overflow(product, dimension, &product))
      return std::nullopt;
  }
  return empty ? 0 : product;
}

std::string shape_text(std::span<const int64_t> shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace fib
