// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace fib {

/// A measured number of an object from outside: 0, or of a size of which sums and ratios stay finite, as all that
/// float32 computes is. Throws std::runtime_error naming the key; nlohmann's exception where it is missing or no
/// number.
template <class Json>
double json_figure(const Json& object, const std::string& key) {
  constexpr double kLeast = 1e-50, kMost = 1e50;
  const auto value = object.at(key).template get<double>();
  const double size = std::abs(value);
  if (size != 0 && !(size >= kLeast && size <= kMost))
    throw std::runtime_error(key + " must be a number of a size that can be measured");
  return value;
}

}  // namespace fib
