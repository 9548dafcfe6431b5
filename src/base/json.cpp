// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <algorithm>
#include <stdexcept>

namespace fib {

bool json_nests_too_deeply(std::string_view json) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') in_string = !in_string;
    if (in_string) {
      i += c == '\\' ? 1 : 0;  // whatever it escapes
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxNesting) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

void check_toml_nesting(std::string_view toml, const std::string& file) {
  if (std::count(toml.begin(), toml.end(), '.') <= kMaxTomlDots) return;
  throw std::invalid_argument(file + ": more than " + std::to_string(kMaxTomlDots) +
                              " dots, which may be a key of as many levels");
}

}  // namespace fib
