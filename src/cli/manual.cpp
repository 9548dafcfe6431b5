// SPDX-License-Identifier: Apache-2.0
#include "report/manual/manual.h"

#include <sstream>

#include "cli/command.h"

namespace fib::cli {
namespace {

using report::CommandEntry;
using report::OptionEntry;

OptionEntry positional_entry(const CLI::Option& option) {
  OptionEntry entry;
  entry.names = {option.get_name(true)};
  entry.value = option.get_type_name();
  if (entry.value.find('|') == std::string::npos) entry.value = entry.names.front();
  entry.positional = true;
  return entry;
}

OptionEntry named_entry(const CLI::Option& option) {
  OptionEntry entry;
  for (const std::string& name : option.get_snames()) entry.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) entry.names.push_back("--" + name);
  if (option.get_items_expected_max() == 0) return entry;  // a flag
  entry.value = option.get_type_name();
  return entry;
}

OptionEntry entry_of_option(const CLI::Option& option) {
  OptionEntry entry = option.nonpositional() ? named_entry(option) : positional_entry(option);
  entry.help = option.get_description();
  entry.group = entry.positional ? "Arguments" : option.get_group();
  entry.required = option.get_required();
  entry.repeated = option.get_items_expected_max() > 1;
  entry.fallback = option.get_default_str();
  if (entry.fallback.starts_with('[')) entry.fallback = entry.fallback.substr(1, entry.fallback.size() - 2);
  return entry;
}

std::string path_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : path_of(*app.get_parent()) + " " + app.get_name();
}

void add_options_of_all(const CLI::App& app, std::vector<OptionEntry>& options) {
  const CLI::App* program = &app;
  while (program->get_parent() != nullptr) program = program->get_parent();
  if (program == &app) return;
  for (const CLI::Option* option : program->get_options()) {
    if (option == program->get_help_ptr() || option == program->get_version_ptr()) continue;
    options.push_back(entry_of_option(*option));
    options.back().group = "Options of all commands";
  }
}

void add_footer(const std::string& footer, CommandEntry& entry) {
  const std::string example = "Example: ";
  std::istringstream lines(footer);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(example))
      entry.examples += line.substr(example.size()) + "\n";
    else
      entry.notes += line + "\n";
  }
}

}  // namespace

CommandEntry manual_of(const CLI::App& app) {
  CommandEntry entry{path_of(app), app.get_description(), app.get_group(), {}, {}, {}, {}};
  add_footer(app.get_footer(), entry);
  for (const CLI::Option* option : app.get_options()) entry.options.push_back(entry_of_option(*option));
  add_options_of_all(app, entry.options);
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    entry.commands.push_back(manual_of(*command));
  return entry;
}

}  // namespace fib::cli
