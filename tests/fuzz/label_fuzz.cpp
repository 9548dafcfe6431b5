// SPDX-License-Identifier: Apache-2.0
// Names of strangers on their way to a terminal and into pages and drawings.
#include "base/printable.h"
#include "fuzz.h"
#include "report/markup.h"

namespace {

bool is_one_plain_line(std::string_view text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text = fib::fuzz::text_of(data, size);
  const std::string shown = fib::printable(text, 40);
  fib::fuzz::require(is_one_plain_line(shown) && shown.size() <= 40 * 16 + 3);
  // What was made printable is printable: nothing is left to escape.
  fib::fuzz::require(fib::printable(shown, shown.size()) == shown);
  const std::string markup = fib::report::escaped_markup(text);
  fib::fuzz::require(markup.find_first_of("<>\"") == std::string::npos);
  return 0;
}
