// SPDX-License-Identifier: Apache-2.0
// Text from outside (names in files, names of files, keys, labels) on its way to a terminal or into a message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fib {

/// The longest text from outside that a message quotes, in characters.
inline constexpr size_t kLongestQuote = 60;

/// The text on one line that cannot move the cursor, color the screen or reorder what is read: bytes that are not
/// UTF-8, control characters (C0, DEL, C1), line separators, invisible characters and changes of the writing direction
/// become \xNN, byte by byte; all else stays as it is. More than `max` characters are cut, with "…" in place of the
/// rest.
std::string printable(std::string_view text, size_t max);

/// The same in single quotes, cut at kLongestQuote.
std::string in_quotes(std::string_view text);

}  // namespace fib
