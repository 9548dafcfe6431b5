// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "report/manual/manual.h"
#include "report/text.h"

namespace fib::report {
namespace {

constexpr size_t kLeftColumns = 28, kFewestColumns = 60;

std::string heading_line(const std::string& text, const HelpStyle& style) {
  return emphasized(text + ":", Emphasis::heading, style.color) + "\n";
}

/// "-o, --out F.html"
std::string left_side(const OptionEntry& option) {
  std::string text = fmt::format("{}", fmt::join(option.names, ", "));
  if (option.positional) return text + (option.repeated ? "…" : "");
  if (option.names.front().starts_with("--")) text = "    " + text;  // below the long names of those with a short one
  return option.value.empty() ? text : text + " " + option.value;
}

std::string right_side(const OptionEntry& option) {
  if (option.required) return option.help + " (required)";
  return option.fallback.empty() ? option.help : fmt::format("{} (default {})", option.help, option.fallback);
}

/// Words in lines of at most `columns`, all but the first behind the left side.
std::string wrapped(const std::string& text, size_t columns) {
  std::string out, line;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!line.empty() && display_width(line) + 1 + display_width(word) > columns) {
      out += line + "\n" + std::string(kLeftColumns, ' ');
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return out + line + "\n";
}

std::string two_sides(const std::string& left, const std::string& right, const HelpStyle& style) {
  const size_t width = display_width(left) + 2;
  std::string text = "  " + left;
  text += width + 2 > kLeftColumns ? "\n" + std::string(kLeftColumns, ' ') : std::string(kLeftColumns - width, ' ');
  return text + wrapped(right, std::max(style.columns, kFewestColumns) - kLeftColumns);
}

std::string usage(const CommandEntry& command, const HelpStyle& style) {
  std::string line = emphasized("Usage:", Emphasis::heading, style.color) + " " + command.path + " [OPTIONS]";
  for (const OptionEntry& option : command.options) {
    if (!option.positional) continue;
    const std::string word = option.names.front() + (option.repeated ? "…" : "");
    line += option.required ? " " + word : " [" + word + "]";
  }
  if (!command.commands.empty()) line += " COMMAND";
  return line + "\n";
}

/// The groups of options or commands, in the order in which they are declared.
template <class Entry>
std::vector<std::string> groups_of(const std::vector<Entry>& entries) {
  std::vector<std::string> groups;
  for (const Entry& entry : entries)
    if (std::ranges::find(groups, entry.group) == groups.end()) groups.push_back(entry.group);
  return groups;
}

std::string options_text(const CommandEntry& command, const std::string& group, const HelpStyle& style) {
  std::string text;
  for (const OptionEntry& option : command.options)
    if (option.group == group && option.listed()) text += two_sides(left_side(option), right_side(option), style);
  return text.empty() ? "" : "\n" + heading_line(group, style) + text;
}

std::string commands_text(const CommandEntry& command, const std::string& group, const HelpStyle& style) {
  std::string text;
  for (const CommandEntry& part : command.commands)
    if (part.group == group && !group.empty()) text += two_sides(part.name(), part.summary, style);
  return text.empty() ? "" : "\n" + heading_line(group, style) + text;
}

std::string footer_text(const CommandEntry& command) {
  std::string text = command.notes;
  std::istringstream lines(command.examples);
  for (std::string line; std::getline(lines, line);) text += "Example: " + line + "\n";
  return text.empty() ? "" : "\n" + text;
}

}  // namespace

std::string help_text(const CommandEntry& command, const HelpStyle& style) {
  std::string text = command.summary + "\n" + usage(command, style);
  for (const std::string& group : groups_of(command.options)) text += options_text(command, group, style);
  for (const std::string& group : groups_of(command.commands)) text += commands_text(command, group, style);
  return text + footer_text(command);
}

}  // namespace fib::report
