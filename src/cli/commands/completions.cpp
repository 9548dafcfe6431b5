// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/manual.h"
#include "cli/options.h"

namespace fib::cli {
namespace {

struct CompletionsArguments {
  std::string shell;
  const CLI::App* program = nullptr;
};

void declare_completions(CLI::App& command, CompletionsArguments& a) {
  a.program = command.get_parent();
  add_choice(command, "SHELL", a.shell, {"bash", "zsh", "fish"}, "bash, zsh or fish")->required();
  command.footer(
      "An installed fib brings them along.\n"
      "Example: source <(fib completions bash)\n"
      "Example: fib completions fish > ~/.config/fish/completions/fib.fish");
}

void run_completions(const CompletionsArguments& a, const Globals& /*globals*/) {
  const CommandEntry program = manual_of(*a.program);
  if (a.shell == "bash") return fmt::print("{}", bash_completion(program));
  fmt::print("{}", a.shell == "zsh" ? zsh_completion(program) : fish_completion(program));
}

}  // namespace

Command completions_command() {
  return make_command<CompletionsArguments>(
      {"completions", "what makes a shell complete commands and options", Topic::program}, declare_completions,
      run_completions);
}

}  // namespace fib::cli
