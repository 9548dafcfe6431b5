// SPDX-License-Identifier: Apache-2.0
// fib attentions, fib models and fib datasets: what there is.
#include "report/listings.h"

#include <fmt/format.h>

#include <stdexcept>

#include "base/text.h"
#include "cli/commands/command_table.h"
#include "cli/options.h"
#include "cli/output.h"
#include "data/registry/datasets.h"
#include "report/text.h"

namespace fib::cli {
namespace {

struct AttentionsArguments {
  bool json = false;
};

void declare(CLI::App& command, AttentionsArguments& a) {
  command.add_flag("--json", a.json, "print JSON");
  command.footer("Example: fib attentions --json");
}

void run(const AttentionsArguments& a, const Globals& globals) {
  show(globals, a.json, report::attentions_json, report::attentions_text);
}

struct ModelsArguments {
  AttentionArguments attention{.attention = "full"};
  bool json = false;
};

void declare(CLI::App& command, ModelsArguments& a) {
  add_attention_options(command, a.attention);
  command.add_flag("--json", a.json, "print JSON");
  command.footer("Example: fib models --attention fibottention");
}

void run(const ModelsArguments& a, const Globals& globals) {
  const AttentionSpec attention = attention_spec(a.attention);
  const std::vector<report::ListedModel> models = report::list_models(attention);
  show(
      globals, a.json, [&] { return report::models_json(models); },
      [&] { return report::models_text(models, attention); });
}

struct DatasetsArguments {
  bool json = false;
  std::vector<std::string> verify;
};

void declare(CLI::App& command, DatasetsArguments& a) {
  command.add_flag("--json", a.json, "print JSON");
  command.add_option("--verify", a.verify, "compare NAME or NAME:PATH with the published checksums")->type_name("DATA");
  command.footer("Example: fib datasets --verify fashion-mnist");
}

/// Throws at the first file that is missing or differs.
void verify(const std::string& name, const Globals& globals) {
  const DataSource source = parse_data_source(name);
  const auto folder = locate_dataset(source);
  if (source.row->files.empty() || source.row->files[0].md5.empty())
    throw std::invalid_argument(fmt::format("no checksums are published for {}", source.row->name));
  verify_dataset(*source.row, folder);
  if (!globals.quiet)
    fmt::print("{}: the {} files in {} are the published ones\n", source.row->name, source.row->files.size(),
               printable(folder.string(), report::kLongestPath));
}

void run(const DatasetsArguments& a, const Globals& globals) {
  for (const std::string& name : a.verify) verify(name, globals);
  if (a.verify.empty()) show(globals, a.json, report::datasets_json, report::datasets_text);
}

template <class Arguments>
Command listing(Title title) {
  return make_command<Arguments>(
      title, [](CLI::App& command, Arguments& a) { declare(command, a); },
      [](const Arguments& a, const Globals& globals) { run(a, globals); });
}

}  // namespace

std::vector<Command> listing_commands() {
  return {listing<AttentionsArguments>({"attentions", "the attention mechanisms and their options", Topic::patterns}),
          listing<ModelsArguments>({"models", "the models: parameters, cost and dimensions", Topic::models}),
          listing<DatasetsArguments>(
              {"datasets", "the datasets, where they are, and how to get what is missing", Topic::models})};
}

}  // namespace fib::cli
