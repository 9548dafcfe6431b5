// SPDX-License-Identifier: Apache-2.0
#include "cli/recipe_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "analysis/ablations/plan.h"
#include "cli/output.h"
#include "report/manual/manual.h"
#include "report/pattern_summary.h"
#include "training/recipe/begin.h"
#include "training/recipe/options.h"
#include "training/recipe/recipe_files.h"

namespace fib::cli {
namespace {

using training::Option;
using training::Recipe;

/// As it is typed on a command line: text without quotes, several numbers as LOW,HIGH.
std::string default_text(const Option& option, const Recipe& base) {
  const Option::Value value = option.get(base);
  if (const auto* word = std::get_if<std::string>(&value)) return *word;
  if (const auto* on = std::get_if<bool>(&value)) return *on ? "on" : "off";
  std::string text = training::to_toml(value);
  std::erase_if(text, [](char c) { return c == '[' || c == ']' || c == ' '; });
  return text;
}

/// Of text that is no choice: what other commands call it.
std::string word_value(const std::string& key) {
  if (key == "model") return "MODEL";
  if (key == "data") return "DATA";
  if (key == "attention_layers") return "LAYERS";
  if (key == "freeze") return "N|all";
  return key == "weights" ? "FILE" : "TEXT";
}

/// What the option takes, as help shows it.
std::string value_text(const Option& option) {
  if (!option.choices.empty()) return fmt::format("{}", fmt::join(option.choices, "|"));
  if (option.holds<std::string>()) return word_value(option.key);
  if (option.holds<training::Span>()) return "LOW,HIGH";
  if (option.holds<Option::Numbers>()) return "X,X,…";
  return option.holds<int64_t>() ? "N" : "X";
}

/// "--skip-bad" and, for recipes that have it, "--no-skip-bad".
CLI::Option* add_switch(CLI::App& app, RecipeArguments& arguments, const Option& option) {
  const std::string flag = option.flag();
  return app.add_flag_function(
      fmt::format("{},!--no-{}", flag, flag.substr(2)),
      [&arguments, &option](int64_t on) { arguments.given.emplace_back(&option, on > 0 ? "true" : "false"); },
      option.help);
}

CLI::Option* add_flag(CLI::App& app, RecipeArguments& arguments, const Option& option) {
  if (option.holds<bool>()) return add_switch(app, arguments, option);
  const auto keep = [&arguments, &option](const std::string& text) {
    Recipe scratch;
    option.parse(scratch, text);  // what it does not accept is refused now, before torch is loaded
    arguments.given.emplace_back(&option, text);
  };
  return app.add_option_function<std::string>(option.flag(), keep, option.help)->type_name(value_text(option));
}

/// The heading that help puts above the options of a section.
std::string group_of(const std::string& section) { return fmt::format("Recipe, [{}]", section); }

bool is_listed(const RecipeArguments& arguments, const std::string& key, RecipeHelp help) {
  return help == RecipeHelp::all || std::ranges::count(arguments.listed, key) > 0;
}

void group_attention(CLI::App& app, bool listed) {
  for (const char* name : {"--attention", "--wmin", "--wmax", "--modified", "--match-pairs"})
    app.get_option(name)->group(listed ? group_of("model") : report::kUnlisted);
}

bool given(const RecipeArguments& arguments, const char* flag) { return arguments.app->count(flag) > 0; }

}  // namespace

void add_recipe_options(CLI::App& app, RecipeArguments& arguments, const Recipe& base, RecipeHelp help) {
  const Recipe usual, shown = training::closed_recipe(base);
  arguments.app = &app;
  app.add_option("--recipe", arguments.recipe,
                 "options from a file, or from a recipe that is found by its name; those given here override it")
      ->check(CLI::Validator(
          [](const std::string& given) {
            training::find_recipe(given);  // throws where there is none, before torch is loaded
            return std::string();
          },
          ""))
      ->type_name("RECIPE");
  add_attention_options(app, arguments.attention);
  add_match_pairs(app, arguments.match_pairs);
  if (base.model.attention.empty())
    app.get_option("--attention")
        ->description(
            "NAME or NAME:key=value,key=value; fib attentions lists them. Weights that are given say their own");
  group_attention(app, is_listed(arguments, "attention", help));
  for (const Option& option : training::options()) {
    // --threads is understood by every command, --attention has shorthands.
    if (option.key == "threads" || option.key == "attention") continue;
    const std::string fallback = default_text(option, shown);
    const bool listed = is_listed(arguments, option.key, help) || fallback != default_text(option, usual);
    add_flag(app, arguments, option)
        ->group(listed ? group_of(option.section) : report::kUnlisted)
        ->default_str(fallback);
  }
}

Recipe recipe_of(const RecipeArguments& arguments, Recipe base) {
  if (!arguments.recipe.empty()) training::read_toml_file(base, training::find_recipe(arguments.recipe));
  for (const auto& [option, text] : arguments.given) option->parse(base, text);
  if (!arguments.chosen_attention.empty()) {
    base.model.attention = arguments.chosen_attention;
    return base;
  }
  AttentionArguments attention = arguments.attention;
  if (!given(arguments, "--attention")) attention.attention = base.model.attention;
  const bool shorthand = attention.modified || !attention.wmin.empty() || !attention.wmax.empty();
  const auto target = target_of(arguments.match_pairs);
  if (attention.attention.empty() && !shorthand && !target) return base;  // that of the weights
  if (attention.attention.empty()) attention.attention = Recipe().model.attention;
  base.model.attention = attention_spec(attention).to_string();
  if (!target) return base;
  const Recipe whole = base.model.weights.empty() ? training::closed_recipe(base) : training::settled_recipe(base);
  base.model.attention = ablations::match_pairs(whole, *target).attention.to_string();
  return base;
}

void say_matched_pairs(const RecipeArguments& arguments, Recipe recipe) {
  if (arguments.match_pairs.empty()) return;
  const AttentionSpec attention = AttentionSpec::parse(recipe.model.attention);
  const int64_t pairs = ablations::image_cost(recipe).patch_pairs;
  recipe.model.attention = arguments.match_pairs;
  const int64_t wanted = ablations::image_cost(recipe).patch_pairs;
  say(report::equal_pairs_text({attention, pairs, wanted}, arguments.match_pairs));
}

void add_train_options(CLI::App& command, TrainArguments& arguments, RecipeHelp help) {
  command.add_option("--out", arguments.out, "directory of the run")->required()->type_name("DIR");
  command.add_flag("--resume", arguments.resume, "continue the run in --out where its last checkpoint is");
  add_number(command, "--peer-timeout", arguments.peer_timeout, {1, 86400},
             "seconds to wait for another process without a heartbeat")
      ->capture_default_str();
  command.add_flag("--json", arguments.json, "print the summary as JSON");
  add_recipe_options(command, arguments.recipe, arguments.base, help);
}

}  // namespace fib::cli
