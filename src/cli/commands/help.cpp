// SPDX-License-Identifier: Apache-2.0
// fib help and fib completions: what the program says of itself.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/nearest.h"
#include "cli/app.h"
#include "cli/commands/command_table.h"
#include "cli/options.h"
#include "cli/output.h"
#include "report/manual/manual.h"

namespace fib::cli {
namespace {

using report::CommandEntry;

struct HelpArguments {
  std::vector<std::string> words;
  std::string man_pages;
  bool man = false;
  const CLI::App* program = nullptr;
};

const CLI::App& named_command(const CLI::App& program, const std::vector<std::string>& words) {
  const CLI::App* command = &program;
  for (const std::string& word : words)
    command = find_named(command->get_subcommands([](const CLI::App*) { return true; }), "command", word,
                         [](const CLI::App* c) { return c->get_name(); });
  return *command;
}

/// Returns how many there are.
size_t write_man_pages(const CommandEntry& command, const std::filesystem::path& folder) {
  write_file_atomically(folder / (man_name(command) + ".1"), man_page(command, version_text()));
  size_t written = 1;
  for (const CommandEntry& part : command.commands) written += write_man_pages(part, folder);
  return written;
}

void run_help(const HelpArguments& a, const Globals& globals) {
  if (!a.man_pages.empty()) {
    std::filesystem::create_directories(a.man_pages);
    const size_t written = write_man_pages(manual_of(*a.program), a.man_pages);
    return say_written(a.man_pages, globals.quiet, fmt::format("({} pages)", written));
  }
  const CommandEntry command = manual_of(named_command(*a.program, a.words));
  fmt::print("{}", a.man ? report::man_page(command, version_text())
                         : report::help_text(command, {columns_of(stdout), shows_color(stdout)}));
}

void declare_help(CLI::App& command, HelpArguments& a) {
  a.program = command.get_parent();
  command.add_option("COMMAND", a.words, "whose help is shown, such as bench model; that of fib without it");
  command.add_flag("--man", a.man, "as the source of a man page");
  command.add_option("--man-pages", a.man_pages, "write the man pages of all commands into this folder")
      ->type_name("DIR");
  command.footer(
      "Example: fib help train\n"
      "Example: fib help --man train | man -l -");
}

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

std::vector<Command> manual_commands() {
  return {
      make_command<HelpArguments>({"help", "what a command does and takes", Topic::program}, declare_help, run_help),
      make_command<CompletionsArguments>(
          {"completions", "what makes a shell complete commands and options", Topic::program}, declare_completions,
          run_completions)};
}

}  // namespace fib::cli
