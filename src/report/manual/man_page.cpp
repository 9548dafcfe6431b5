// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "report/manual/manual.h"

namespace fib::report {
namespace {

/// Text that roff takes as it is.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  // A point or an apostrophe there begins a request.
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string slanted(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

/// Each line by itself, as it is written.
std::string literal(const std::string& text) {
  std::string out = ".nf\n";
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out += roff(line) + "\n";
  return out + ".fi\n";
}

std::string synopsis(const CommandEntry& command) {
  std::string text = ".SH SYNOPSIS\n" + bold(command.path) + " [" + slanted("OPTIONS") + "]";
  for (const OptionEntry& option : command.options) {
    if (!option.positional) continue;
    const std::string word = slanted(option.names.front()) + (option.repeated ? "…" : "");
    text += option.required ? " " + word : " [" + word + "]";
  }
  return text + (command.commands.empty() ? "" : " " + slanted("COMMAND")) + "\n";
}

std::string option_item(const OptionEntry& option) {
  std::vector<std::string> names;
  names.reserve(option.names.size());
  for (const std::string& name : option.names) names.push_back(option.positional ? slanted(name) : bold(name));
  std::string text = fmt::format(".TP\n{}", fmt::join(names, ", "));
  if (!option.positional && !option.value.empty()) text += " " + slanted(option.value);
  text += "\n" + roff(option.help);
  if (option.required) text += " (required)";
  if (!option.fallback.empty()) text += " (default " + roff(option.fallback) + ")";
  return text + "\n";
}

std::string options_section(const CommandEntry& command) {
  std::string text = ".SH OPTIONS\n", group = command.options.front().group;
  for (const OptionEntry& option : command.options) {
    if (!option.listed()) continue;
    if (option.group != group) text += ".SS " + roff(option.group) + "\n";
    group = option.group;
    text += option_item(option);
  }
  return text;
}

std::string commands_section(const CommandEntry& command) {
  if (command.commands.empty()) return "";
  std::string text = ".SH COMMANDS\n";
  for (const CommandEntry& part : command.commands)
    text += ".TP\n\\fB" + roff(man_name(part)) + "\\fR(1)\n" + roff(part.summary) + "\n";
  return text;
}

/// What holds for all commands stands on the program's page.
constexpr const char* kOfTheProgram =
    ".SH EXIT STATUS\n0 for success, 1 for a failure, 2 for what was asked in a way that cannot be understood; 128 and "
    "a signal's number where one ended the work.\n"
    ".SH ENVIRONMENT\n.TP\n\\fBFIB_DATA\\fR\nthe folder of datasets\n.TP\n\\fBNO_COLOR\\fR\nno color on terminals, "
    "whatever its value, unless it is empty\n";

std::string see_also(const CommandEntry& command) {
  const size_t space = command.path.find(' ');
  if (space == std::string::npos) return kOfTheProgram;
  return ".SH SEE ALSO\n\\fBfib\\fR(1)\n";
}

}  // namespace

std::string man_name(const CommandEntry& command) {
  std::string name = command.path;
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string man_page(const CommandEntry& command, const std::string& version) {
  std::string text = fmt::format(".TH {} 1 \"\" \"{}\" Fibottention\n", upper(man_name(command)), roff(version));
  text += fmt::format(".SH NAME\n{} \\- {}\n", roff(man_name(command)), roff(command.summary));
  text += synopsis(command);
  if (!command.notes.empty()) text += ".SH DESCRIPTION\n" + literal(command.notes);
  text += options_section(command) + commands_section(command);
  if (!command.examples.empty()) text += ".SH EXAMPLES\n" + literal(command.examples);
  return text + see_also(command);
}

}  // namespace fib::report
