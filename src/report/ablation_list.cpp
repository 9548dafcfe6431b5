// SPDX-License-Identifier: Apache-2.0
// The list of all tables and figures, and the one table of the paper that has settings instead of results.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <thread>

#include "analysis/paper/tables.h"
#include "report/ablation_report.h"
#include "report/fields.h"
#include "report/text.h"
#include "training/recipe/options.h"

namespace fib::report {
namespace {

using ablations::Ablation;
using ablations::Effort;
using ablations::NamedRecipe;
using ablations::Request;
using ablations::Run;
using ablations::Scale;
using ablations::SettingLine;
using nlohmann::ordered_json;

constexpr Scale kScales[] = {Scale::tiny, Scale::small, Scale::paper};

std::string about(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  if (seconds < 5400) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 129600) return fmt::format("{:.0f} h", seconds / 3600);
  constexpr double kDay = 86400, kYear = 365.25 * kDay;
  if (seconds < kYear) return fmt::format("{:.0f} days", seconds / kDay);
  const double years = seconds / kYear * std::max(1U, std::thread::hardware_concurrency());
  return fmt::format("{:.{}f} core-years", years, years < 10 ? 1 : 0);
}

std::string effort_text(const Effort& e) {
  if (e.runs == 0) return "–";
  if (e.finished == e.runs) return "done";
  std::string text = "~ " + about(e.seconds);
  if (e.finished > 0) text += fmt::format(", {} of {} done", e.finished, e.runs);
  if (!e.missing.empty()) text += ", no data";
  return text;
}

/// What an entry trains at a scale.
struct Trained {
  std::vector<std::string> models, data;
  int64_t epochs = 0;
};

void add_new(std::vector<std::string>& list, const std::string& text) {
  if (std::ranges::count(list, text) == 0) list.push_back(text);
}

Trained trained_by(const Ablation& a, Request request, Scale scale) {
  request.scale = scale;
  Trained trained;
  for (const Run& run : plan(a, request)) {
    add_new(trained.models, run.recipe.model.name);
    add_new(trained.data, ablations::find_data(run.data).name);
    if (!run.preparation) trained.epochs = run.recipe.schedule.epochs;
  }
  return trained;
}

std::string trained_text(const Trained& t) {
  return fmt::format("{}, {} epochs of {}", fmt::join(t.models, ", "), t.epochs, fmt::join(t.data, ", "));
}

/// Which entries train the same, by what they train.
std::vector<std::pair<std::string, std::vector<std::string>>> entries_by_training(const std::vector<Ablation>& all,
                                                                                  const Request& request, Scale scale) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const Ablation& a : all) {
    if (a.rows.empty() || !has_scale(a, scale)) continue;
    const std::string text = trained_text(trained_by(a, request, scale));
    auto found = std::ranges::find(groups, text, &std::pair<std::string, std::vector<std::string>>::first);
    if (found == groups.end()) found = groups.insert(groups.end(), {text, {}});
    found->second.push_back(a.name);
  }
  return groups;
}

/// "paper: table-video trains …", one line for each kind of training; the most frequent one is that of all others.
std::string training_lines(const std::vector<Ablation>& all, const Request& request, Scale scale) {
  const auto groups = entries_by_training(all, request, scale);
  const auto most = std::ranges::max_element(groups, {}, [](const auto& group) { return group.second.size(); });
  std::string text;
  for (auto group = groups.begin(); group != groups.end(); ++group)
    if (group != most)
      text += fmt::format("{}: {}: {}.\n", word_of(scale), fmt::join(group->second, ", "), group->first);
  if (most == groups.end()) return text;
  const std::string whose = groups.size() > 1 ? "the others" : "all";
  return text + fmt::format("{}: {}: {}.\n", word_of(scale), whose, most->first);
}

// ---- Settings

/// The paper's cell as it stands in its table.
std::string cell_text(const paper::Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  return fmt::format("{}", std::get<double>(cell));
}

const paper::Cell& paper_cell(const Ablation& a, const SettingLine& line) {
  return paper::find_table(a.paper).row(line.name).cells.front();
}

/// An option's value in all recipes: once where they agree.
std::string value_text(const std::string& key, const std::vector<NamedRecipe>& recipes) {
  std::vector<std::string> values;
  for (const NamedRecipe& named : recipes)
    add_new(values, training::to_toml(training::find_option(key).get(named.recipe)));
  return fmt::format("{} = {}", key, fmt::join(values, " | "));
}

std::string files_of(const std::vector<NamedRecipe>& recipes) {
  std::vector<std::string> files;
  for (const NamedRecipe& named : recipes) files.push_back("recipes/" + named.file);
  return fmt::format("{}", fmt::join(files, ", "));
}

}  // namespace

std::string settings_text(const Ablation& a, const std::vector<NamedRecipe>& recipes) {
  Table table({{"setting"}, {"the paper"}, {"here"}, {""}});
  for (const SettingLine& line : a.settings) {
    std::vector<std::string> values;
    for (const std::string& key : line.options) values.push_back(value_text(key, recipes));
    table.add_row({line.name, cell_text(paper_cell(a, line)),
                   values.empty() ? kNoValue : fmt::format("{}", fmt::join(values, ", ")), line.note});
  }
  return fmt::format("{} (§ {})\n\n{}\nHere: {}.\n{}", a.title, a.section, table.to_string(), files_of(recipes),
                     a.note.empty() ? "" : a.note + "\n");
}

ordered_json settings_json(const Ablation& a, const std::vector<NamedRecipe>& recipes) {
  ordered_json rows = ordered_json::array();
  for (const SettingLine& line : a.settings) {
    ordered_json options = ordered_json::object();
    for (const std::string& key : line.options)
      for (const NamedRecipe& named : recipes)
        // TOML's numbers, texts and lists are JSON's.
        options[key][named.data] = ordered_json::parse(training::to_toml(training::find_option(key).get(named.recipe)));
    const auto& cell = paper_cell(a, line);
    const ordered_json paper = std::visit([](const auto& value) { return ordered_json(value); }, cell);
    rows.push_back({{"setting", line.name}, {"paper", paper}, {"options", options}, {"note", line.note}});
  }
  return {{"name", a.name}, {"title", a.title}, {"rows", rows}, {"note", a.note}};
}

/// How to get the data that entries lack, a line for each.
std::string missing_lines(const std::set<std::string>& missing) {
  std::string text;
  for (const std::string& line : missing) text += "no data: " + line + "\n";
  return text.empty() ? "" : text + "\n";
}

std::string list_text(const std::vector<Ablation>& all, const Request& request) {
  using enum Table::Align;
  std::set<std::string> missing;
  Table table({{"name"}, {"what"}, {"rows", right}, {"tiny"}, {"small"}, {"paper"}});
  for (const Ablation& a : all) {
    std::vector<std::string> cells = {a.name, a.title, a.rows.empty() ? "" : std::to_string(a.rows.size())};
    for (Scale scale : kScales) {
      const Effort effort = a.rows.empty() ? Effort() : effort_of(a, request, scale);
      cells.push_back(a.rows.empty() ? "no training" : effort_text(effort));
      missing.insert(effort.missing.begin(), effort.missing.end());
    }
    table.add_row(std::move(cells));
  }
  std::string text = table.to_string() + "\n" + missing_lines(missing);
  for (const Scale scale : kScales) text += training_lines(all, request, scale);
  return text +
         "Times are for this machine, core-years of one of its cores; estimated from multiply-accumulates until a run "
         "of the scale has finished.\n";
}

ordered_json list_json(const std::vector<Ablation>& all, const Request& request) {
  ordered_json list = ordered_json::array();
  for (const Ablation& a : all) {
    ordered_json entry = {{"name", a.name}, {"title", a.title}, {"section", a.section}, {"rows", a.rows.size()}};
    entry["command"] = "fib reproduce " + a.name;
    for (Scale scale : kScales) {
      if (a.rows.empty()) break;
      if (!has_scale(a, scale)) continue;
      const Effort e = effort_of(a, request, scale);
      const Trained t = trained_by(a, request, scale);
      entry[word_of(scale)] = {{"runs", e.runs},
                               {"finished", e.finished},
                               {"seconds_left", e.seconds},
                               {"data_present", e.missing.empty()},
                               {"models", t.models},
                               {"data", t.data},
                               {"epochs", t.epochs}};
    }
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace fib::report
