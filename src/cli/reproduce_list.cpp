// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "cli/reproduce_report.h"
#include "cli/table.h"
#include "data/registry/datasets.h"

namespace fib::cli {
namespace {

using ablations::Ablation;
using ablations::Request;
using ablations::Run;
using ablations::Scale;
using nlohmann::ordered_json;

/// A middling speed of training on one core, good for an order of magnitude; once a run of a scale has finished, its
/// own speed is used.
constexpr double kGmacsPerCore = 20;

constexpr Scale kScales[] = {Scale::tiny, Scale::small, Scale::paper};

struct Effort {
  size_t runs = 0, finished = 0;
  double seconds = 0;  ///< of what is left
  bool data_present = true;
};

Effort effort_of(const Ablation& ablation, Request request, Scale scale) {
  request.scale = scale;
  const std::vector<Run> runs = plan(ablation, request);
  const double rate = kGmacsPerCore * std::max(1U, std::thread::hardware_concurrency());
  Effort effort;
  effort.runs = runs.size();
  for (const Run& run : runs) {
    if (run.state == ablations::State::finished)
      ++effort.finished;
    else
      effort.seconds += ablations::estimated_seconds(run, runs, rate);
    effort.data_present &= find_dataset(parse_data_source(run.recipe.data)).has_value();
  }
  return effort;
}

std::string about(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  if (seconds < 5400) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 129600) return fmt::format("{:.0f} h", seconds / 3600);
  return fmt::format("{:.0f} days", seconds / 86400);
}

std::string effort_text(const Effort& e) {
  if (e.finished == e.runs) return "done";
  std::string text = "~ " + about(e.seconds);
  if (e.finished > 0) text += fmt::format(", {} of {} done", e.finished, e.runs);
  if (!e.data_present) text += ", no data";
  return text;
}

}  // namespace

std::string list_text(const std::vector<Ablation>& all, const Request& request) {
  using enum Table::Align;
  Table trained({{"name"}, {"what"}, {"runs", right}, {"tiny"}, {"small"}, {"paper"}});
  Table others({{"name"}, {"what"}, {"how"}});
  for (const Ablation& a : all) {
    if (a.rows.empty()) {
      others.add_row({a.name, a.title, a.command.empty() ? "needs " + a.needs : a.command});
      continue;
    }
    std::vector<std::string> cells = {a.name, a.title, std::to_string(a.rows.size())};
    for (Scale scale : kScales) cells.push_back(effort_text(effort_of(a, request, scale)));
    trained.add_row(std::move(cells));
  }
  return trained.to_string() + "\n" + others.to_string() +
         "\ntiny: Fashion-MNIST. small: 10,000 images of CIFAR-10. paper: ViT-B for 100 epochs on CIFAR-10 and "
         "CIFAR-100.\n"
         "Times are for this machine, estimated from multiply-accumulates until a run of the scale has finished.\n";
}

ordered_json list_json(const std::vector<Ablation>& all, const Request& request) {
  ordered_json list = ordered_json::array();
  for (const Ablation& a : all) {
    ordered_json entry = {{"name", a.name}, {"title", a.title}, {"section", a.section}, {"rows", a.rows.size()}};
    entry["command"] = a.rows.empty() ? a.command : "fib reproduce " + a.name;
    if (!a.needs.empty()) entry["needs"] = a.needs;
    for (Scale scale : kScales) {
      if (a.rows.empty()) break;
      const Effort e = effort_of(a, request, scale);
      entry[word_of(scale)] = {
          {"runs", e.runs}, {"finished", e.finished}, {"seconds_left", e.seconds}, {"data_present", e.data_present}};
    }
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace fib::cli
