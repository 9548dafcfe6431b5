// SPDX-License-Identifier: Apache-2.0
// The registry of mechanisms for Python: what there is, and what a text of it means to the operators.
#include <torch/library.h>

#include <nlohmann/json.hpp>

#include "fibottention/mechanisms.h"

namespace fib::attention {
namespace {

/// Of each mechanism name, summary, then key, default and help of each option.
std::vector<std::vector<std::string>> mechanism_rows() {
  const char* list = fib_mechanisms();
  TORCH_CHECK(list != nullptr, fib_last_error());
  std::vector<std::vector<std::string>> rows;
  for (const auto& m : nlohmann::json::parse(list)) {
    rows.push_back({m["name"], m["summary"]});
    for (const auto& o : m["options"]) rows.back().insert(rows.back().end(), {o["key"], o["default"], o["help"]});
  }
  return rows;
}

/// The text as the operators take it, and its masking.
std::tuple<std::string, std::string> checked_text(const std::string& text) {
  const char* spec = nullptr;
  fib_masking masking = FIB_MASKING_EXCLUDE;
  TORCH_CHECK_VALUE(fib_mechanism_check(text.c_str(), &spec, &masking) == FIB_OK, fib_last_error());
  return {spec, masking == FIB_MASKING_ZERO ? "zero" : "exclude"};
}

}  // namespace
}  // namespace fib::attention

TORCH_LIBRARY_FRAGMENT(fibottention, m) {
  m.def("mechanisms() -> str[][]", &fib::attention::mechanism_rows);
  m.def("check_mechanism(str attention) -> (str attention, str masking)", &fib::attention::checked_text);
}
