// SPDX-License-Identifier: Apache-2.0
// Completions for shells. Bash and zsh get one tree of cases each, of the same shape; fish gets a line for each word.
#include <fmt/format.h>

#include <algorithm>

#include "report/manual/manual.h"

namespace fib::report {
namespace {

/// What may stand where a value is expected.
enum class Kind { words, files, directories, free };

Kind kind_of(const std::string& value) {
  if (!known_words(value).empty()) return Kind::words;
  if (value == "DIR") return Kind::directories;
  return value == "FILE" || value == "IMAGE" || value.find('.') != std::string::npos ? Kind::files : Kind::free;
}

/// A recipe is a name of ours or a file of the user's, and images may lie in a folder that is named after data.
bool takes_files_too(const std::string& value) { return value == "RECIPE" || value == "DATA"; }

/// All commands and parts of commands, the program first.
std::vector<const CommandEntry*> flattened(const CommandEntry& command) {
  std::vector<const CommandEntry*> all{&command};
  for (const CommandEntry& part : command.commands) {
    const auto below = flattened(part);
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

/// "bench model"; of the program itself "".
std::string below_program(const CommandEntry& command) {
  const size_t space = command.path.find(' ');
  return space == std::string::npos ? "" : command.path.substr(space + 1);
}

/// 'bench'|'bench model' with what was typed before: the words that lead one level down.
std::string steps(const CommandEntry& program) {
  std::vector<std::string> patterns;
  for (const CommandEntry* command : flattened(program)) {
    const std::string path = below_program(*command);
    if (!path.empty()) patterns.push_back(fmt::format("'{}{}'", path.find(' ') == std::string::npos ? " " : "", path));
  }
  return fmt::format("{}", fmt::join(patterns, "|"));
}

/// Between single quotes, where only these end.
std::string in_shell_quotes(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

/// How a shell says it.
struct Dialect {
  const char *files, *directories;
  std::string (*words)(const std::vector<std::string>& words);
  std::string (*options)(const std::vector<OptionEntry>& options);
  std::string (*commands)(const std::vector<CommandEntry>& commands);
};

std::string action(const std::string& value, const Dialect& shell) {
  switch (kind_of(value)) {
    case Kind::words:
      return shell.words(known_words(value)) + (takes_files_too(value) ? std::string("; ") + shell.files : "");
    case Kind::files:
      return shell.files;
    case Kind::directories:
      return shell.directories;
    case Kind::free:
      return ":";
  }
  return ":";
}

/// What stands where no option waits for its value.
std::string argument_action(const CommandEntry& command, const Dialect& shell) {
  if (!command.commands.empty()) return shell.commands(command.commands);
  const auto argument = std::ranges::find_if(command.options, &OptionEntry::positional);
  return argument == command.options.end() ? ":" : action(argument->value, shell);
}

std::string case_of(const CommandEntry& command, const Dialect& shell) {
  std::string text = fmt::format("    {})\n      case $prev in\n", in_shell_quotes(below_program(command)));
  for (const OptionEntry& option : command.options)
    if (!option.positional && !option.value.empty())
      text += fmt::format("        {}) {} ;;\n", fmt::join(option.names, "|"), action(option.value, shell));
  return text + fmt::format("        *) if [[ $cur == -* ]]; then {}; else {}; fi ;;\n      esac ;;\n",
                            shell.options(command.options), argument_action(command, shell));
}

std::string cases(const CommandEntry& program, const Dialect& shell) {
  std::string text;
  for (const CommandEntry* command : flattened(program)) text += case_of(*command, shell);
  return text;
}

std::vector<std::string> option_words(const std::vector<OptionEntry>& options) {
  std::vector<std::string> names;
  for (const OptionEntry& option : options)
    if (!option.positional) names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

std::vector<std::string> command_words(const std::vector<CommandEntry>& commands) {
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const CommandEntry& command : commands) names.push_back(command.name());
  return names;
}

std::string bash_words(const std::vector<std::string>& words) {
  return fmt::format("COMPREPLY=($(compgen -W {} -- \"$cur\"))",
                     in_shell_quotes(fmt::format("{}", fmt::join(words, " "))));
}

constexpr Dialect kBash{"_fib_files -f", "_fib_files -d", bash_words,
                        [](const std::vector<OptionEntry>& options) { return bash_words(option_words(options)); },
                        [](const std::vector<CommandEntry>& commands) { return bash_words(command_words(commands)); }};

/// "name:what it is", a list that _describe shows; a colon of the name's own is escaped.
std::string described(const std::string& name, const std::string& help) { return in_shell_quotes(name + ":" + help); }

std::string zsh_words(const std::vector<std::string>& words) {
  return fmt::format("compadd -- {}", fmt::join(words, " "));
}

std::string zsh_options(const std::vector<OptionEntry>& options) {
  std::string list;
  for (const OptionEntry& option : options)
    for (const std::string& name : option.names)
      if (!option.positional) list += described(name, option.help) + " ";
  return fmt::format("known=({}); _describe -o option known", list);
}

std::string zsh_commands(const std::vector<CommandEntry>& commands) {
  std::string list;
  for (const CommandEntry& command : commands) list += described(command.name(), command.summary) + " ";
  return fmt::format("known=({}); _describe command known", list);
}

constexpr Dialect kZsh{"_files", "_files -/", zsh_words, zsh_options, zsh_commands};

std::string fish_quotes(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "'";
}

/// The flags of `complete` that say what follows an option.
std::string fish_action(const std::string& value) {
  switch (kind_of(value)) {
    case Kind::words:
      return fmt::format("{} -a {}", takes_files_too(value) ? "-r -F" : "-x",
                         fish_quotes(fmt::format("{}", fmt::join(known_words(value), " "))));
    case Kind::files:
      return "-r -F";
    case Kind::directories:
      return "-x -a '(__fish_complete_directories)'";
    case Kind::free:
      return "-x";
  }
  return "-x";
}

std::string fish_option(const std::string& where, const OptionEntry& option) {
  std::string line = "complete -c fib -n " + fish_quotes(where);
  if (option.positional) {
    const std::string follows = fish_action(option.value);
    // An argument of its own has nothing before it that takes it.
    return follows == "-x" ? "" : line + (follows.starts_with("-x") ? follows.substr(2) : " -F") + "\n";
  }
  for (const std::string& name : option.names)
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!option.value.empty()) line += " " + fish_action(option.value);
  return line + " -d " + fish_quotes(option.help) + "\n";
}

std::string fish_lines(const CommandEntry& command) {
  const std::string where = "__fib_at " + in_shell_quotes(below_program(command));
  std::string text;
  for (const CommandEntry& part : command.commands)
    text +=
        fmt::format("complete -c fib -n {} -a {} -d {}\n", fish_quotes(where), part.name(), fish_quotes(part.summary));
  for (const OptionEntry& option : command.options) text += fish_option(where, option);
  return text;
}

}  // namespace

std::string bash_completion(const CommandEntry& program) {
  return fmt::format(R"(# Completion of fib for bash, written by: fib completions bash
_fib_files() {{
  compopt -o filenames 2>/dev/null
  COMPREPLY+=($(compgen "$1" -- "$cur"))
}}

_fib() {{
  local IFS=$' \t\n' cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}} at= word
  # Bash takes --option=value apart.
  [[ $cur == = ]] && cur=
  [[ $prev == = ]] && prev=${{COMP_WORDS[COMP_CWORD - 2]}}
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD - 1}}"; do
    case "$at $word" in
      {}) at="${{at:+$at }}$word" ;;
    esac
  done
  COMPREPLY=()
  case $at in
{}  esac
}}

complete -F _fib fib
)",
                     steps(program), cases(program, kBash));
}

std::string zsh_completion(const CommandEntry& program) {
  return fmt::format(R"(#compdef fib
# Completion of fib for zsh, written by: fib completions zsh
_fib() {{
  local at= word cur=$PREFIX prev=${{words[CURRENT - 1]}}
  local -a known
  for word in "${{(@)words[2,CURRENT - 1]}}"; do
    case "$at $word" in
      {}) at="${{at:+$at }}$word" ;;
    esac
  done
  case $at in
{}  esac
}}

_fib "$@"
)",
                     steps(program), cases(program, kZsh));
}

std::string fish_completion(const CommandEntry& program) {
  std::string patterns = steps(program);
  std::ranges::replace(patterns, '|', ' ');
  std::string text = fmt::format(R"(# Completion of fib for fish, written by: fib completions fish
function __fib_at
    set -l at ''
    for word in (commandline -opc)[2..-1]
        switch "$at $word"
            case {}
                set at (string trim -- "$at $word")
        end
    end
    test "$at" = "$argv"
end

complete -c fib -f
)",
                                 patterns);
  for (const CommandEntry* command : flattened(program)) text += fish_lines(*command);
  return text;
}

}  // namespace fib::report
