// SPDX-License-Identifier: Apache-2.0
// What people expect of any program: help, completions, man pages, "-", NO_COLOR.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/npy.h"
#include "cli/commands/command_table.h"
#include "cli/output.h"
#include "cli/recipe_options.h"
#include "report/text.h"
#include "run_fib.h"
#include "terminal.h"
#include "training/recipe/options.h"
#include "training/recipe/recipe_files.h"

namespace {

namespace fs = std::filesystem;

/// The lines of help that are about an option.
std::vector<std::string> lines_about(const std::string& help, const std::string& option) {
  std::vector<std::string> lines;
  std::istringstream in(help);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    for (std::string word; words >> word && word.starts_with('-');)
      if (word == option || word == option + ",") lines.push_back(line);
  }
  return lines;
}

/// What a shell's script says, with the completions of fib in the file $1.
std::string said_by(const std::string& shell, const std::string& script) {
  const std::string completions = scratch_path(shell + "_completions"), file = scratch_path("script"),
                    out = scratch_path("said");
  std::ofstream(completions) << run_fib("completions " + shell).out;
  std::ofstream(file) << script;
  const int status = std::system((shell + " " + file + " " + completions + " >" + out + " 2>&1").c_str());
  EXPECT_EQ(status, 0);
  return read_file(out);
}

bool is_installed(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null").c_str()) == 0;
}

std::string completed_by_bash(const std::string& words) {
  return said_by("bash", "source $1; COMP_WORDS=(fib " + words +
                             "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _fib; echo \"${COMPREPLY[*]}\"");
}

std::string write_array(const std::string& name, float first) {
  const std::vector<int64_t> shape{1, 2, 9, 4};
  std::vector<float> values(72);
  for (size_t i = 0; i < values.size(); ++i) values[i] = first + 0.1f * static_cast<float>(i % 7);
  fib::write_npy<float>(scratch_path(name), shape, values);
  return scratch_path(name);
}

}  // namespace

TEST(FibHelp, is_the_same_as_a_command_and_as_an_option) {
  EXPECT_EQ(run_fib("help").out, run_fib("--help").out);
  EXPECT_EQ(run_fib("help train").out, run_fib("train --help").out);
  EXPECT_EQ(run_fib("help bench model").out, run_fib("bench model --help").out);
  EXPECT_EQ(run_fib("-V").out, run_fib("--version").out);
  const Outcome unknown = run_fib("help trian");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("did you mean 'train'?"), std::string::npos) << unknown.err;
}

TEST(FibHelp, of_every_command_has_usage_and_example) {
  for (const fib::cli::Command& command : fib::cli::command_table<fib::cli::BecomesTorchProgram>()) {
    const std::string name = command.title.name;
    const Outcome o = run_fib(name + " --help");
    EXPECT_EQ(o.code, 0) << name;
    EXPECT_NE(o.out.find("Usage: fib " + name), std::string::npos) << name;
    EXPECT_NE(o.out.find("Example: "), std::string::npos) << name;
    EXPECT_EQ(o.out.find('\033'), std::string::npos) << "color where there is no terminal";
  }
}

TEST(FibHelp, lists_each_option_of_recipes_once_and_in_one_command) {
  const std::string train = run_fib("train --help").out, prune = run_fib("prune --help").out;
  for (const fib::training::Option& option : fib::training::options())
    EXPECT_EQ(lines_about(train, option.flag()).size(), 1u) << option.flag();
  EXPECT_TRUE(lines_about(prune, "--pool").empty());
  ASSERT_EQ(lines_about(prune, "--ema").size(), 1u) << "its default is another there";
}

TEST(FibHelp, shows_choices_and_defaults) {
  const std::string help = run_fib("train --help").out;
  EXPECT_NE(help.find("--pool token|mean"), std::string::npos);
  EXPECT_NE(help.find("(default token)"), std::string::npos);
  EXPECT_NE(help.find("--crop resized|padded|jittered|none"), std::string::npos);
  EXPECT_NE(help.find("--schedule epoch|step|milestones"), std::string::npos);
  EXPECT_NE(help.find("--skip-bad, --no-skip-bad"), std::string::npos);
  EXPECT_NE(help.find("(default off)"), std::string::npos);
}

TEST(Suggestions, know_what_other_programs_call_things) {
  const auto said = [](const std::string& arguments) {
    const Outcome o = run_fib(arguments);
    EXPECT_EQ(o.code, 2) << arguments;
    return o.err;
  };
  const auto expect = [&](const std::string& arguments, const std::string& part) {
    EXPECT_NE(said(arguments).find(part), std::string::npos) << arguments << ": " << said(arguments);
  };
  expect("train --pretrained w.safetensors --out run", "did you mean '--weights'?");
  expect("train --batch-size 8 --out run", "did you mean '--batch'?");
  expect("flops --model vit_tiny", "did you mean 'vit_tiny_patch16_224'?");
  expect("evaluate --help", "did you mean 'eval'?");
  expect("predict x.jpg", "did you mean 'classify'?");
  expect("bench evaluation --help", "unknown command 'evaluation'");
}

TEST(Color, is_for_terminals_and_for_those_who_want_it) {
  using namespace fib::cli;
  const char* before = std::getenv("TERM");
  const std::string terminal = before == nullptr ? "" : before;
  {
    const fib::test::Terminal screen(80);
    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
    EXPECT_TRUE(shows_color(stderr));
    setenv("NO_COLOR", "1", 1);
    EXPECT_FALSE(shows_color(stderr));
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    EXPECT_FALSE(shows_color(stderr));
  }
  setenv("TERM", terminal.c_str(), 1);
  EXPECT_EQ(fib::report::emphasized("Options:", fib::report::Emphasis::heading, false), "Options:");
  EXPECT_EQ(fib::report::emphasized("fib:", fib::report::Emphasis::error, true), "\033[1;31mfib:\033[0m");
}

TEST(Dash, is_standard_output_for_drawings) {
  const std::string file = scratch_path("pattern.svg");
  EXPECT_EQ(run_fib("pattern --tokens 20 --heads 2 --quiet --svg " + file).code, 0);
  EXPECT_EQ(run_fib("pattern --tokens 20 --heads 2 --svg -").out, read_file(file));
  const Outcome both = run_fib("pattern --json --svg -");
  EXPECT_EQ(both.code, 2);
  EXPECT_EQ(both.err, "fib: --json and --svg - both want standard output\n");
}

TEST(Dash, is_standard_input_and_output_for_arrays) {
  const std::string q = write_array("q.npy", 0.1f), k = write_array("k.npy", 0.2f), v = write_array("v.npy", 0.3f),
                    out = scratch_path("out.npy");
  EXPECT_EQ(run_fib("attend --quiet --q " + q + " --k " + k + " --v " + v + " --out " + out).code, 0);
  const Outcome streamed = run_fib("attend --k " + k + " --v " + v + " --q - --out - <" + q);
  EXPECT_EQ(streamed.code, 0) << streamed.err;
  EXPECT_EQ(streamed.out, read_file(out));
  const Outcome twice = run_fib("attend --k - --q - --v " + v + " --out " + out + " <" + q);
  EXPECT_EQ(twice.code, 2);
  EXPECT_NE(twice.err.find("standard input can be read once"), std::string::npos) << twice.err;
}

TEST(FibAttend, tells_machines_what_it_wrote) {
  const std::string q = write_array("q.npy", 0.1f), out = scratch_path("out.npy");
  const Outcome o = run_fib("attend --json --q " + q + " --k " + q + " --v " + q + " --out " + out);
  const auto json = nlohmann::json::parse(o.out);
  EXPECT_EQ(json.at("attention"), "fibottention");
  EXPECT_EQ(json.at("tokens"), 9);
  EXPECT_EQ(json.at("written").at(0).at("file"), out);
  EXPECT_EQ(json.at("written").at(0).at("shape"), nlohmann::json({1, 2, 9, 4}));
}

TEST(Recipe, is_found_by_name) {
  EXPECT_EQ(fib::training::find_recipe("demo").filename(), "demo.toml");
  EXPECT_EQ(fib::training::find_recipe("here/demo.toml"), "here/demo.toml");
  EXPECT_EQ(fib::training::find_recipe("-"), "/dev/stdin");
  try {
    fib::training::find_recipe("demmo");
    FAIL() << "there is no demmo";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'demo'?"), std::string::npos) << error.what();
  }
}

TEST(Completion, of_bash_knows_commands_options_and_values) {
  EXPECT_EQ(completed_by_bash("tr"), "train\n");
  EXPECT_EQ(completed_by_bash("bench mo"), "model\n");
  EXPECT_EQ(completed_by_bash("train --poo"), "--pool\n");
  EXPECT_EQ(completed_by_bash("train --pool ''"), "token mean\n");
  EXPECT_EQ(completed_by_bash("train --pool = m"), "mean\n");
  EXPECT_EQ(completed_by_bash("--quiet prune --sched"), "--schedule\n") << "options that help leaves to train";
  EXPECT_EQ(completed_by_bash("train --lr ''"), "\n") << "any number";
  EXPECT_EQ(completed_by_bash("pattern --attention bigb"), "bigbird\n");
  EXPECT_EQ(completed_by_bash("completions z"), "zsh\n");
}

TEST(Completion, of_fish_knows_commands_and_values) {
  if (!is_installed("fish")) GTEST_SKIP() << "fish is not installed";
  EXPECT_NE(said_by("fish", "source $argv[1]; complete -C 'fib tr'").find("train\ttrain a model"), std::string::npos);
  EXPECT_EQ(said_by("fish", "source $argv[1]; complete -C 'fib train --pool m'").substr(0, 4), "mean");
}

TEST(Completion, of_zsh_knows_commands_and_values) {
  if (!is_installed("zsh")) GTEST_SKIP() << "zsh is not installed";
  // Without the completion system, which needs a terminal: its functions only say what they were given.
  const std::string stubs =
      "_describe() { local list=${@[-1]}; print -l -- ${(P)list} }\n"
      "compadd() { print -- ${@[2,-1]} }\n"
      "_files() { print files }\n";
  EXPECT_NE(said_by("zsh", stubs + "words=(fib tr) CURRENT=2 PREFIX=tr; source $1").find("train:train a model"),
            std::string::npos);
  EXPECT_EQ(said_by("zsh", stubs + "words=(fib train --pool m) CURRENT=4 PREFIX=m; source $1"), "token mean\n");
}

TEST(ManPages, are_there_for_every_command_and_without_warnings) {
  const std::string folder = scratch_path("man");
  EXPECT_EQ(run_fib("--quiet help --man-pages " + folder).code, 0);
  for (const fib::cli::Command& command : fib::cli::command_table<fib::cli::BecomesTorchProgram>()) {
    std::string name = command.title.name;
    std::ranges::replace(name, ' ', '-');
    EXPECT_TRUE(fs::exists(folder + "/fib-" + name + ".1")) << name;
  }
  const std::string train = read_file(folder + "/fib-train.1");
  EXPECT_NE(
      train.find("\\fB\\-\\-pool\\fR \\fItoken|mean\\fR\nwhat the classifier sees: the class token, or the mean of all "
                 "tokens; with weights, as they say (default token)"),
      std::string::npos);
  if (!is_installed("groff")) GTEST_SKIP() << "groff is not installed";
  const std::string warnings = scratch_path("warnings");
  EXPECT_EQ(std::system(("groff -man -Kutf8 -Tutf8 -ww -z " + folder + "/*.1 2>" + warnings).c_str()), 0);
  EXPECT_EQ(read_file(warnings), "");
}
