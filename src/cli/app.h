// SPDX-License-Identifier: Apache-2.0
// The frame around the subcommands: parsing, global options, and one line on stderr when something is wrong.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace fib::cli {

/// Options that every command understands, before or after its name.
struct Globals {
  int64_t threads = 1;  ///< all cores unless --threads says otherwise
  bool quiet = false;   ///< no tables and no notes, only what was asked for by an option, and errors
};

/// One row of the table of commands. `add` declares the options and sets the callback that does the work; it may keep
/// the globals, which outlive it and are set when the callback runs. Without it the command belongs to fib-torch.
struct Command {
  std::string name;
  std::string summary;
  void (*add)(CLI::App& command, const Globals& globals);
};

/// What a program may do differently.
struct Hooks {
  std::function<void(const Globals&)> before_command;
  std::function<std::string(const std::exception&)> explain;  ///< the line for a person, instead of what()
};

/// Thrown by a command that has said all there is to say and ends with a code of its own.
struct Exit {
  int code;
};

/// "fib 0.1.0 (commit 1a2b3c4, Release)".
std::string version_text();

/// Parses and runs. 0 is success, 1 a failure, 2 a usage error (std::invalid_argument counts as one).
int run_app(int argc, const char* const* argv, const std::vector<Command>& commands, const Hooks& hooks = {});

}  // namespace fib::cli
