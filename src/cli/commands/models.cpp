// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/table.h"
#include "models/cost.h"
#include "report/words.h"

namespace fib::cli {
namespace {

struct ModelsArguments {
  AttentionArguments attention{.attention = "full"};
  bool json = false;
};

models::Cost cost_of(const models::Row& row, const AttentionSpec& attention) {
  models::Options options;
  options.attention = attention;
  return models::cost(models::dimensions(row.name, options));
}

/// "96/192/384/768" where stages differ.
std::string by_stage(const models::Row& row, int64_t models::Row::*whole, int64_t models::Stage::*part) {
  if (row.stages.empty()) return std::to_string(row.*whole);
  std::string text;
  for (const models::Stage& stage : row.stages) text += (text.empty() ? "" : "/") + std::to_string(stage.*part);
  return text;
}

nlohmann::ordered_json stages_json(const models::Row& row) {
  auto list = nlohmann::ordered_json::array();
  for (const models::Stage& stage : row.stages) {
    list.push_back({{"dim", stage.dim}, {"depth", stage.depth}, {"heads", stage.heads}});
  }
  return list;
}

nlohmann::ordered_json models_json(const AttentionSpec& attention) {
  auto list = nlohmann::ordered_json::array();
  for (const models::Row& row : models::table()) {
    const models::Cost cost = cost_of(row, attention);
    list.push_back({{"name", row.name},
                    {"parameters", cost.parameters},
                    {"gmacs", cost.total() / 1e9},
                    {"resolution", row.resolution},
                    {"patch", row.patch},
                    {"dim", row.dim},
                    {"depth", row.depth},
                    {"heads", row.heads},
                    {"classes", row.classes},
                    {"kind", row.kind}});
    if (!row.stages.empty()) list.back()["stages"] = stages_json(row);
  }
  return list;
}

std::string models_text(const AttentionSpec& attention) {
  using enum Table::Align;
  Table table({{"model", left},
               {"parameters", right},
               {"GMACs", right},
               {"resolution", right},
               {"patch", right},
               {"dim", right},
               {"depth", right},
               {"heads", right},
               {"classes", right}});
  for (const models::Row& row : models::table()) {
    const models::Cost cost = cost_of(row, attention);
    table.add_row({row.name, report::grouped(cost.parameters), fmt::format("{:.3f}", cost.total() / 1e9),
                   std::to_string(row.resolution), std::to_string(row.patch),
                   by_stage(row, &models::Row::dim, &models::Stage::dim),
                   by_stage(row, &models::Row::depth, &models::Stage::depth),
                   by_stage(row, &models::Row::heads, &models::Stage::heads), report::grouped(row.classes)});
  }
  return table.to_string() +
         fmt::format("\nWith {} attention, for one picture. Other resolutions: fib flops.\n", attention.to_string());
}

void declare(CLI::App& command, ModelsArguments& a) {
  add_attention_options(command, a.attention);
  command.add_flag("--json", a.json, "for machines");
  command.footer("Example: fib models --attention fibottention");
}

void run(const ModelsArguments& a, const Globals& globals) {
  const AttentionSpec attention = attention_spec(a.attention);
  if (a.json) {
    fmt::print("{}\n", models_json(attention).dump());
  } else if (!globals.quiet) {
    fmt::print("{}", models_text(attention));
  }
}

}  // namespace

Command models_command() {
  return make_command<ModelsArguments>({"models", "the models: parameters, cost and dimensions", Topic::models},
                                       declare, run);
}

}  // namespace fib::cli
