// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "models/kinds.h"
#include "report/table.h"
#include "report/words.h"

namespace fib::cli {
namespace {

using report::Table;

struct ModelsArguments {
  AttentionArguments attention{.attention = "full"};
  bool json = false;
};

/// A row with the attention asked for, or why the two do not go together.
struct ListedModel {
  models::ModelRow row;
  std::optional<models::Cost> cost = std::nullopt;
  std::string misfit = {};
};

ListedModel listed(const models::ModelRow& row, const AttentionSpec& attention) {
  models::Options options;
  options.attention = attention;
  try {
    return {row, models::cost(models::dimensions(row.name, options))};
  } catch (const std::invalid_argument& error) {
    return {row, std::nullopt, error.what()};
  }
}

std::vector<ListedModel> list_models(const AttentionSpec& attention) {
  attention::check_spec(attention);
  std::vector<ListedModel> list;
  for (const models::ModelRow& row : models::table()) list.push_back(listed(row, attention));
  const auto fits = [](const ListedModel& model) { return model.cost.has_value(); };
  if (std::none_of(list.begin(), list.end(), fits)) throw std::invalid_argument(list.front().misfit);
  return list;
}

/// "96/192/384/768" where stages differ.
std::string by_stage(const models::ModelRow& row, int64_t models::ModelRow::*whole, int64_t models::Stage::*part) {
  if (row.stages.empty()) return std::to_string(row.*whole);
  std::string text;
  for (const models::Stage& stage : row.stages) text += (text.empty() ? "" : "/") + std::to_string(stage.*part);
  return text;
}

nlohmann::ordered_json stages_json(const models::ModelRow& row) {
  auto list = nlohmann::ordered_json::array();
  for (const models::Stage& stage : row.stages) {
    list.push_back({{"dim", stage.dim}, {"depth", stage.depth}, {"heads", stage.heads}});
  }
  return list;
}

nlohmann::ordered_json models_json(const std::vector<ListedModel>& models) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& [row, cost, misfit] : models) {
    list.push_back({{"name", row.name},
                    {"parameters", cost ? nlohmann::ordered_json(cost->parameters) : nullptr},
                    {"gmacs", cost ? nlohmann::ordered_json(cost->total() / 1e9) : nullptr},
                    {"resolution", row.resolution},
                    {"patch", row.patch},
                    {"dim", row.dim},
                    {"depth", row.depth},
                    {"heads", row.heads},
                    {"classes", row.classes},
                    {"kind", row.kind->name},
                    {"compiles", row.kind->compiles}});
    if (row.frames > 0) list.back()["frames"] = row.frames;
    if (!row.stages.empty()) list.back()["stages"] = stages_json(row);
    if (!cost) list.back()["misfit"] = misfit;
  }
  return list;
}

/// The models left out of the table, by reason.
std::string misfits_text(const std::vector<ListedModel>& models) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const ListedModel& model : models) {
    if (!model.cost) by_reason[model.misfit].push_back(model.row.name);
  }
  std::string text;
  for (const auto& [reason, names] : by_reason)
    text += fmt::format("Without {}: {}.\n", fmt::join(names, ", "), reason);
  return text;
}

std::string models_text(const std::vector<ListedModel>& models, const AttentionSpec& attention) {
  using enum Table::Align;
  Table table({{"model", left},
               {"parameters", right},
               {"GMACs", right},
               {"resolution", right},
               {"patch", right},
               {"dim", right},
               {"depth", right},
               {"heads", right},
               {"classes", right},
               {"compiles", left}});
  for (const auto& [row, cost, misfit] : models) {
    if (!cost) continue;
    table.add_row(
        {row.name, report::grouped(cost->parameters), fmt::format("{:.3f}", cost->total() / 1e9),
         row.frames > 0 ? fmt::format("{} x {}", row.frames, row.resolution) : fmt::format("{}", row.resolution),
         fmt::format("{}", row.patch), by_stage(row, &models::ModelRow::dim, &models::Stage::dim),
         by_stage(row, &models::ModelRow::depth, &models::Stage::depth),
         by_stage(row, &models::ModelRow::heads, &models::Stage::heads), report::grouped(row.classes),
         row.kind->compiles ? "yes" : "no"});
  }
  return table.to_string() +
         fmt::format("\nWith {} attention, for one image, or one clip (frames x resolution). Others: fib flops.\n",
                     attention.to_string()) +
         misfits_text(models);
}

void declare(CLI::App& command, ModelsArguments& a) {
  add_attention_options(command, a.attention);
  command.add_flag("--json", a.json, "print JSON");
  command.footer("Example: fib models --attention fibottention");
}

void run(const ModelsArguments& a, const Globals& globals) {
  const AttentionSpec attention = attention_spec(a.attention);
  const std::vector<ListedModel> models = list_models(attention);
  if (a.json) {
    print_json(models_json(models));
  } else if (!globals.quiet) {
    fmt::print("{}", models_text(models, attention));
  }
}

}  // namespace

Command models_command() {
  return make_command<ModelsArguments>({"models", "the models: parameters, cost and dimensions", Topic::models},
                                       declare, run);
}

}  // namespace fib::cli
