// SPDX-License-Identifier: Apache-2.0
// What a program says of itself: help, man pages and completions for shells, all made from a description of its
// commands.
#pragma once

#include <string>
#include <vector>

namespace fib::report {

/// The group of options that help leaves to another command's page, and completions still know.
inline constexpr const char* kUnlisted = "unlisted";

struct OptionEntry {
  std::vector<std::string> names;  ///< "-o", "--out"; an argument without dashes has one, "DIR"
  std::string value;               ///< what it takes: "FILE", "tiny|small|paper"; empty: nothing
  std::string help, fallback, group;
  bool positional = false, required = false, repeated = false;

  bool listed() const { return group != kUnlisted; }
};

struct CommandEntry {
  std::string path;  ///< "fib bench model"
  std::string summary, group;
  std::string notes, examples;  ///< lines below the options; an example is a command
  std::vector<OptionEntry> options;
  std::vector<CommandEntry> commands;

  /// Without those above it: "model".
  std::string name() const { return path.substr(path.rfind(' ') + 1); }
};

/// The words that a value of this kind can be, as far as they are known: of "tiny|small|paper" these three, of "MODEL"
/// the names of models.
std::vector<std::string> known_words(const std::string& value);

struct HelpStyle {
  size_t columns = 100;
  bool color = false;
};
std::string help_text(const CommandEntry& command, const HelpStyle& style);

/// In roff, section 1.
std::string man_page(const CommandEntry& command, const std::string& version);
/// "fib-bench-model".
std::string man_name(const CommandEntry& command);

std::string bash_completion(const CommandEntry& program);
std::string zsh_completion(const CommandEntry& program);
std::string fish_completion(const CommandEntry& program);

}  // namespace fib::report
