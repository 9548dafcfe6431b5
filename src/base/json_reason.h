// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/printable.h"

namespace fib {

/// What is wrong with a file, without the library's own name for it: "[json.exception.type_error.302] type must be …".
inline std::string json_reason(const nlohmann::json::exception& error) {
  const std::string text = error.what();
  const size_t end = text.find("] ");
  return printable(end == std::string::npos ? text : text.substr(end + 2), 200);
}

}  // namespace fib
