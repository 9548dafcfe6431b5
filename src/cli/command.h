// SPDX-License-Identifier: Apache-2.0
// What a command is: its name, its options and what it does, declared once. cli/commands/command_table.h lists all
// commands.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace fib::report {
struct CommandEntry;
}

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
  std::string name;  ///< "analyze corruption" is the command corruption of the command analyze
  std::string summary;
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

/// The description that help, man pages and completions are made from: what a command and those below it declare. The
/// options of all commands stand with each of them.
report::CommandEntry manual_of(const CLI::App& app);

/// Replaces this process by fib-torch, with the same arguments; throws std::runtime_error where it is not there.
[[noreturn]] void become_torch_program(const char* const* argv);

/// How `fib` carries out a command that needs torch. It reads the options too, so that help and mistakes are answered
/// at once, and then becomes fib-torch, whose main calls the command's run().
struct BecomesTorchProgram {
  template <class Arguments>
  static void run(const Arguments& /*arguments*/, const Globals& globals) {
    become_torch_program(globals.argv);
  }
};

/// A command that needs torch. `Torch` is how the program carries it out.
template <class Arguments, class Torch>
Command torch_command(Title title) {
  return make_command<Arguments>(
      title, [](CLI::App& command, Arguments& arguments) { declare(command, arguments); }, Torch::run);
}

/// As many OpenMP threads as were asked for, or an error.
void use_threads(const Globals& globals);

}  // namespace fib::cli
