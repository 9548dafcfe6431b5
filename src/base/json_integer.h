// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace fib {

/// An integer of an object from outside. nlohmann would convert any number, one beyond int64_t too, which C++ leaves
/// undefined. Throws std::runtime_error naming the key; nlohmann's exception where it is missing.
template <class Json>
int64_t json_integer(const Json& object, const std::string& key) {
  const auto& value = object.at(key);
  constexpr auto kMost = std::numeric_limits<int64_t>::max();
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() && value.template get<uint64_t>() > static_cast<uint64_t>(kMost)))
    throw std::runtime_error(key + " must be an integer of 64 bits");
  return value.template get<int64_t>();
}

}  // namespace fib
