// SPDX-License-Identifier: Apache-2.0
// Words as a line that a person can paste into a shell.
#pragma once

#include <span>
#include <string>

namespace fib {

/// As a POSIX shell reads it back.
std::string shell_word(const std::string& word);
std::string shell_line(std::span<const std::string> words);

}  // namespace fib
