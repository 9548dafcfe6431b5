// SPDX-License-Identifier: Apache-2.0
// JSON of others: what a parser makes of it is copied and destroyed by recursion, and a megabyte of brackets exhausts
// the stack, so how deep a text nests is checked before it is parsed; numbers are checked when they are read.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/text.h"

namespace fib {

/// Values within values. What is read here has up to five levels; a stack of 8 MiB ends at some 20,000.
inline constexpr int kMaxNesting = 64;

/// Whether brackets and braces, those in strings not counted, are open more than kMaxNesting deep.
bool json_nests_too_deeply(std::string_view json);

/// Every dot may be the next level of a key, a.b.c, which TOML's own limit of nesting does not count. Recipes hold
/// some fifty dots, most of them in numbers.
inline constexpr std::ptrdiff_t kMaxTomlDots = 4096;

/// Throws std::invalid_argument naming the file.
void check_toml_nesting(std::string_view toml, const std::string& file);

/// A text of others. Throws nlohmann's exception for what is no JSON, and for what nests more than kMaxNesting deep.
template <class Json = nlohmann::json>
Json parse_json(std::string_view text) {
  if (json_nests_too_deeply(text))
    throw Json::other_error::create(501, "nested more than " + std::to_string(kMaxNesting) + " deep", nullptr);
  return Json::parse(text);
}

/// The same without exceptions: what they would be thrown for is a discarded value.
inline nlohmann::json parse_json_or_discard(std::string_view text) {
  if (json_nests_too_deeply(text)) return nlohmann::json::value_t::discarded;
  return nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
}

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

/// A measured number of an object from outside: 0, or of a size of which sums and ratios stay finite, as all that
/// float32 computes is. Throws std::runtime_error naming the key; nlohmann's exception where it is missing or no
/// number.
template <class Json>
double json_number(const Json& object, const std::string& key) {
  constexpr double kLeast = 1e-50, kMost = 1e50;
  const auto value = object.at(key).template get<double>();
  const double size = std::abs(value);
  if (size != 0 && !(size >= kLeast && size <= kMost))
    throw std::runtime_error(key + " must be a number of a size that can be measured");
  return value;
}

/// What is wrong with a file, without the library's own name for it: "[json.exception.type_error.302] type must be …".
inline std::string json_reason(const nlohmann::json::exception& error) {
  const std::string text = error.what();
  const size_t end = text.find("] ");
  return printable(end == std::string::npos ? text : text.substr(end + 2), 200);
}

}  // namespace fib
