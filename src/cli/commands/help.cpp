// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/nearest.h"
#include "cli/app.h"
#include "cli/command.h"
#include "cli/manual.h"
#include "cli/output.h"

namespace fib::cli {
namespace {

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
  fmt::print("{}",
             a.man ? man_page(command, version_text()) : help_text(command, {columns_of(stdout), shows_color(stdout)}));
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

}  // namespace

Command help_command() {
  return make_command<HelpArguments>({"help", "what a command does and takes", Topic::program}, declare_help, run_help);
}

}  // namespace fib::cli
