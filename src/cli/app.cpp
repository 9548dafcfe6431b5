// SPDX-License-Identifier: Apache-2.0
#include "cli/app.h"

#include <fmt/format.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>

#include "base/nearest.h"
#include "base/parallel.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/output.h"
#include "report/manual/manual.h"
#include "report/text.h"
#include "training/recipe/options.h"
#include "version.h"

namespace fib::cli {
namespace {

constexpr int kFailure = 1, kUsage = 2;

/// Says the line of the first thread that fails: where a process of a run is lost, LibTorch's may fail beside ours.
int complain(const std::string& message, int code) {
  static std::mutex mutex;
  static bool said = false;
  const std::lock_guard lock(mutex);
  if (std::exchange(said, true)) return code;
  std::string line = message;
  std::replace(line.begin(), line.end(), '\n', ' ');
  say_error(line);
  return code;
}

constexpr const char* kHeadings[] = {"Patterns and attention", "Models and data",     "Training",
                                     "Trained models",         "Speed and the paper", "This program"};

const char* heading(const Command& command) { return kHeadings[static_cast<size_t>(command.title.topic)]; }

bool is_part_of_a_group(const Command& command) {
  return std::string_view(command.title.name).find(' ') != std::string_view::npos;
}

std::string overview(const std::vector<Command>& commands) {
  std::string text =
      "fib: sparse attention that is really sparse.\n\n"
      "Each head looks at keys whose distance stands in its own row of the Wythoff array.\n";
  const bool color = shows_color(stdout);
  std::string above;
  for (const Command& c : commands) {
    if (is_part_of_a_group(c)) continue;
    if (std::exchange(above, heading(c)) != heading(c))
      text += "\n" + report::emphasized(heading(c), report::Emphasis::heading, color) + "\n";
    text += fmt::format("  fib {:<12} {}\n", c.title.name, c.title.summary);
  }
  return text + "\nTry    fib pattern --tokens 196 --heads 12 --svg pattern.svg\n";
}

/// The innermost command that was named, or the program itself.
const CLI::App* selected(const CLI::App& app) {
  const CLI::App* current = &app;
  while (!current->get_subcommands().empty()) current = current->get_subcommands().front();
  return current;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  const auto is_new = [&](const std::string& n) { return std::find(names.begin(), names.end(), n) == names.end(); };
  for (const CLI::App* level = selected(app); level != nullptr; level = level->get_parent()) {
    for (const CLI::Option* o : level->get_options()) {
      for (const std::string& name : o->get_lnames()) {
        if (is_new("--" + name)) names.push_back("--" + name);
      }
    }
  }
  return names;
}

/// "bench model " for what was named, "" for the program itself.
std::string command_path(const CLI::App& app) {
  std::string path;
  for (const CLI::App* level = selected(app); level != &app; level = level->get_parent())
    path = level->get_name() + " " + path;
  return path;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* c : app.get_subcommands([](const CLI::App*) { return true; })) names.push_back(c->get_name());
  return names;
}

/// Names the option that replaced a former one, or the nearest one; the others are left to help.
std::string unknown_option(const CLI::App& app, const std::string& given) {
  const std::string word = given.substr(0, given.find('=')), help = "fib " + command_path(app) + "--help";
  const std::vector<std::string> names = option_names(app);
  if (const auto now = training::renamed_flag(word); now && std::ranges::count(names, *now) > 0)
    return fmt::format("option '{}' is called '{}' now", word, *now);
  if (const auto here = training::usual_flag(word); here && std::ranges::count(names, *here) > 0)
    return fmt::format("unknown option {}, did you mean '{}'? See {}", in_quotes(word), *here, help);
  if (const auto guess = nearest(word, names))
    return fmt::format("unknown option {}, did you mean '{}'? See {}", in_quotes(word), *guess, help);
  return fmt::format("unknown option {}; see {}", in_quotes(word), help);
}

/// What other programs call a command.
std::string unknown_command(const std::string& word, const std::vector<std::string>& names) {
  static const std::map<std::string, std::string> elsewhere = {
      {"test", "eval"},       {"validate", "eval"},   {"predict", "classify"}, {"finetune", "train"},
      {"fine-tune", "train"}, {"distill", "adapt"},   {"benchmark", "bench"},  {"convert", "export"},
      {"sample", "generate"}, {"analyse", "analyze"}, {"server", "serve"}};
  const auto here = elsewhere.find(word);
  if (here == elsewhere.end() || std::ranges::count(names, here->second) == 0)
    return unknown_name("command", word, names);
  return fmt::format("unknown command {}, did you mean '{}'? Known: {}", in_quotes(word), here->second, joined(names));
}

/// What CLI11 could not place, as one line with the nearest thing that exists.
std::string explain_extras(const CLI::App& app) {
  const std::vector<std::string> extras = app.remaining(true);
  const auto option =
      std::find_if(extras.begin(), extras.end(), [](const std::string& e) { return e.rfind('-', 0) == 0; });
  if (option != extras.end()) return unknown_option(app, *option);
  const std::vector<std::string> names = command_names(*selected(app));
  if (!names.empty()) return unknown_command(extras.front(), names);
  return fmt::format("unexpected argument {}; see fib {}--help", in_quotes(extras.front()), command_path(app));
}

/// CLI11's words for what it cannot parse, as a person would say them.
std::string explain_parse(const CLI::App& app, const CLI::ParseError& error) {
  const std::string text = error.what(), help = "; see fib " + command_path(app) + "--help";
  const std::string option = text.substr(0, text.find(':'));
  if (error.get_name() == "ArgumentMismatch")
    return option + (text.find("At Most") == std::string::npos ? " needs a value" : " is given more than once") + help;
  if (error.get_name() == "ConversionError") return text + " is not a value that it takes" + help;
  if (text.find("subcommand is required") == std::string::npos) return text;
  return fmt::format("which of these? fib {}{}", command_path(app), fmt::join(command_names(*selected(app)), ", "));
}

int report(const std::string& message) {
  // fmt throws where it meets a full disk behind standard output, before the last flush would.
  return complain(std::ferror(stdout) != 0 ? "cannot write to standard output" : message, kFailure);
}

/// Below its group where its name has two words.
void add_command(CLI::App& app, const Command& command, const Globals& globals) {
  std::string name = command.title.name;
  CLI::App* parent = &app;
  if (const size_t space = name.find(' '); space != std::string::npos) {
    parent = app.get_subcommand(name.substr(0, space));
    name.erase(0, space + 1);
  }
  CLI::App* added = parent->add_subcommand(name, command.title.summary);
  added->group(parent == &app ? heading(command) : "Commands");
  added->fallthrough();
  command.declare(*added, globals);
}

void set_up(CLI::App& app, Globals& globals, const std::vector<Command>& commands) {
  globals.threads = std::max(1u, std::thread::hardware_concurrency());
  app.set_help_flag("-h,--help", "this help");
  app.set_version_flag("-V,--version", version_text(), "version, commit and kind of build");
  add_integer(app, "--threads", globals.threads, {1, 1024}, "threads to compute with; all cores by default");
  app.add_flag("--quiet", globals.quiet, "no tables, notes or progress");
  app.require_subcommand(0, 1);
  app.footer("Example: fib pattern --tokens 196 --heads 12 --json");
  for (const Command& c : commands) add_command(app, c, globals);
}

}  // namespace

void use_threads(const Globals& globals) {
  require_threads(globals.threads);
  omp_set_num_threads(static_cast<int>(globals.threads));
}

Command make_group(Title title, const char* example) {
  return {title, [example](CLI::App& command, const Globals& /*globals*/) {
            command.require_subcommand(1);
            command.footer(example);
          }};
}

std::string explain_failure(const std::exception& error) {
  if (const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&error))
    return fmt::format("cannot use {}: {}", in_quotes(file->path1().string()), file->code().message());
  return error.what();
}

void end_in_one_line() noexcept {
  std::string reason = "no reason given";
  try {
    if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::exception& error) {
    reason = error.what();
  } catch (...) {
  }
  ::_exit(complain("a thread of the program has failed: " + reason, kFailure));
}

std::string version_text() { return "fib " FIB_VERSION " (commit " FIB_COMMIT ", " FIB_BUILD_TYPE ")"; }

int run_app(int argc, const char* const* argv, const Program& program) {
  CLI::App app("Sparse attention that is really sparse.", "fib");
  Globals globals;
  globals.argv = argv;
  set_up(app, globals, program.commands);
  app.parse_complete_callback([&] {
    globals.threads_given = app.count("--threads") > 0;
    if (program.before_command) program.before_command(globals);
  });
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) fmt::print("{}", overview(program.commands));
    if (std::fflush(stdout) != 0) return complain("cannot write to standard output", kFailure);
    return 0;
  } catch (const Exit& request) {
    return request.code;
  } catch (const CLI::CallForHelp&) {
    // "fib evaluate --help" asks for help with what there is not.
    if (const auto extras = app.remaining(true);
        !extras.empty() && !extras.front().starts_with('-') && !command_names(*selected(app)).empty())
      return complain(explain_extras(app), kUsage);
    fmt::print("{}", report::help_text(manual_of(*selected(app)), {columns_of(stdout), shows_color(stdout)}));
    return 0;
  } catch (const CLI::Success& request) {
    return app.exit(request);  // --version
  } catch (const CLI::ExtrasError&) {
    return complain(explain_extras(app), kUsage);
  } catch (const CLI::ParseError& e) {
    // A command that is missing may have been mistyped.
    return complain(app.remaining(true).empty() ? explain_parse(app, e) : explain_extras(app), kUsage);
  } catch (const std::invalid_argument& e) {
    return complain(e.what(), kUsage);
  } catch (const std::bad_alloc&) {
    return complain("out of memory", kFailure);
  } catch (const std::exception& e) {
    return report(program.explain ? program.explain(e) : explain_failure(e));
  }
}

}  // namespace fib::cli
