// SPDX-License-Identifier: Apache-2.0
// The frame around the commands: parsing, global options, and one line on stderr when something is wrong.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/command.h"

namespace fib::cli {

/// A program: its commands, and what it does differently.
struct Program {
  std::vector<Command> commands;
  std::function<void(const Globals&)> before_command = {};
  std::function<std::string(const std::exception&)> explain = {};  ///< the line for a person, instead of what()
};

/// The line for a person: in words of this program where the text is a library's.
std::string explain_failure(const std::exception& error);

/// For std::set_terminate: what no thread catches ends the program with one line and code 1.
[[noreturn]] void end_in_one_line() noexcept;

/// Thrown by a command that has said all there is to say and ends with a code of its own.
struct Exit {
  int code;
};

/// "fib 0.1.0 (commit 1a2b3c4, Release)".
std::string version_text();

/// Parses and runs. 0 is success, 1 a failure, 2 a usage error (std::invalid_argument counts as one).
int run_app(int argc, const char* const* argv, const Program& program);

}  // namespace fib::cli
