// SPDX-License-Identifier: Apache-2.0
#include "cli/recipe_options.h"

#include "training/recipe/toml.h"

namespace fib::cli {
namespace {

using training::Option;
using training::Recipe;

/// As it is typed on a command line: text without quotes, several numbers as LOW,HIGH.
std::string default_text(const Option& option) {
  static const Recipe defaults;
  const Option::Value value = option.get(defaults);
  if (const auto* word = std::get_if<std::string>(&value)) return word->empty() ? "TEXT" : *word;
  std::string text = training::to_toml(value);
  std::erase_if(text, [](char c) { return c == '[' || c == ']' || c == ' '; });
  return text;
}

void add_flag(CLI::App& app, RecipeArguments& arguments, const Option& option) {
  const auto keep = [&arguments, &option](const std::string& text) { arguments.given.emplace_back(&option, text); };
  CLI::Option* flag = option.is_switch()
                          ? app.add_flag_function(
                                option.flag(), [keep](int64_t on) { keep(on > 0 ? "true" : "false"); }, option.help)
                          : app.add_option_function<std::string>(option.flag(), keep, option.help);
  flag->group("Options: " + option.section);
  if (!option.is_switch()) flag->type_name(default_text(option));
}

bool given(const RecipeArguments& arguments, const char* flag) { return arguments.app->count(flag) > 0; }

}  // namespace

void add_recipe_options(CLI::App& app, RecipeArguments& arguments) {
  arguments.app = &app;
  app.add_option("--recipe", arguments.recipe, "options from a file; those given here override it")
      ->type_name("F.toml");
  add_attention_options(app, arguments.attention);
  for (const Option& option : training::options())
    // --threads is understood by every command, --attention has shorthands.
    if (option.key != "threads" && option.key != "attention") add_flag(app, arguments, option);
}

Recipe recipe_of(const RecipeArguments& arguments, Recipe base) {
  if (!arguments.recipe.empty()) training::read_toml_file(base, arguments.recipe);
  for (const auto& [option, text] : arguments.given) option->parse(base, text);
  AttentionArguments attention = arguments.attention;
  if (!given(arguments, "--attention")) attention.attention = base.attention;
  base.attention = attention_spec(attention).to_string();
  return base;
}

}  // namespace fib::cli
