// SPDX-License-Identifier: Apache-2.0
// What a command is: its name, its options and what it does, declared once. The table of all commands is written by
// CMake from the files in cli/commands: NAME.cpp or NAME.h there defines NAME_command().
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace fib::cli {

/// Options that every command understands, before or after its name.
struct Globals {
  int64_t threads = 1;         ///< all cores unless --threads says otherwise
  bool threads_given = false;  ///< --threads was there
  bool quiet = false;          ///< no tables and no notes, only what was asked for by an option, and errors
  const char* const* argv = nullptr;
};

/// The headings of the overview, in its order.
enum class Topic { patterns, models, training, trained, measures, program };

struct Title {
  const char* name;  ///< "analyze corruption" is the command corruption of the command analyze
  const char* summary;
  Topic topic;
};

struct Command {
  Title title;
  /// Adds the options and the callback that does the work. The globals outlive it and are set when the callback runs.
  std::function<void(CLI::App& command, const Globals& globals)> declare;
};

template <class Arguments>
using Runner = void (*)(const Arguments&, const Globals&);

/// `declare` adds the options, which write into the arguments; `run` is called with them.
template <class Arguments>
Command make_command(Title title, void (*declare)(CLI::App&, Arguments&), Runner<Arguments> run) {
  return {title, [=](CLI::App& command, const Globals& globals) {
            const auto arguments = std::make_shared<Arguments>();
            declare(command, *arguments);
            command.callback([=, &globals] { run(*arguments, globals); });
          }};
}

/// A command that only holds others: those whose names begin with its own.
Command make_group(Title title, const char* example);

/// Where a file of cli/torch leaves what carries out a command: in fib-torch, and nowhere else.
template <class Arguments>
struct TorchRunner {
  static inline Runner<Arguments> run = nullptr;
  explicit TorchRunner(Runner<Arguments> runner) { run = runner; }
};

/// Replaces this process by fib-torch, with the same arguments; throws std::runtime_error where it is not there.
[[noreturn]] void become_torch_program(const char* const* argv);

/// A command that needs torch. `fib` reads its options too, so that help and mistakes are answered at once, and then
/// becomes fib-torch, where the command's TorchRunner is.
template <class Arguments>
Command torch_command(Title title, void (*declare)(CLI::App&, Arguments&)) {
  return make_command<Arguments>(title, declare, [](const Arguments& arguments, const Globals& globals) {
    if (TorchRunner<Arguments>::run == nullptr) become_torch_program(globals.argv);
    TorchRunner<Arguments>::run(arguments, globals);
  });
}

/// All commands, by topic and name; groups stand before their parts.
const std::vector<Command>& command_table();

}  // namespace fib::cli
