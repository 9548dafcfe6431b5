// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/nesting.h"

namespace fib {

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

}  // namespace fib
