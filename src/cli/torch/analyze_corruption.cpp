// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "analysis/torch/robustness.h"
#include "cli/commands/analyses.h"
#include "cli/commands/trained.h"
#include "cli/progress.h"
#include "cli/torch/open_models.h"
#include "data/corruptions/corruption.h"
#include "report/plot.h"
#include "report/table.h"
#include "report/words.h"

namespace fib::cli {
namespace {

using report::Table;

using analysis::Robustness;
using nlohmann::ordered_json;
using training::TrainedModel;

struct Measured {
  std::string name, attention, data;
  ordered_json input;
  Robustness robustness;
};

Measured measure(const CorruptionArguments& a, const TrainedModel& model, bool quiet) {
  ProgressBar progress("sets", static_cast<int64_t>(a.sets.corruptions.size() * a.sets.severities.size()), quiet);
  const auto show = [&](int64_t done, const std::string& corruption) {
    progress.show(done, model.name + ", " + corruption);
  };
  return {model.name, model.attention, model.data, input_json(model.info()),
          analysis::measure_robustness(model, a.sets, show)};
}

ordered_json robustness_json(const std::vector<Measured>& all, int64_t seed) {
  ordered_json list = ordered_json::array();
  for (const Measured& m : all) {
    const Robustness& r = m.robustness;
    ordered_json rows = ordered_json::array();
    for (const auto& [name, by_severity] : r.top1) {
      for (const auto& [severity, top1] : by_severity)
        rows.push_back({{"corruption", name}, {"severity", severity}, {"top1", top1}});
    }
    list.push_back({{"name", m.name},
                    {"attention", m.attention},
                    {"data", m.data},
                    {"input", m.input},
                    {"source", r.source.empty() ? "generated" : r.source},
                    {"images", r.images},
                    {"clean_top1", r.clean},
                    {"mean_top1", r.mean()},
                    {"corruptions", rows}});
  }
  return {{"seed", seed}, {"rows", list}};
}

std::string top1_text(double share) { return fmt::format("{:.2f} %", 100 * share); }

std::string robustness_text(const CorruptionArguments& a, const std::vector<Measured>& all) {
  using enum Table::Align;
  std::vector<Table::Column> columns = {{"top-1"}};
  for (const Measured& m : all) columns.push_back({m.name, right});
  Table table(std::move(columns));
  const auto add = [&](std::string label, const auto& value) {
    std::vector<std::string> cells = {std::move(label)};
    for (const Measured& m : all) cells.push_back(top1_text(value(m.robustness)));
    table.add_row(std::move(cells));
  };
  add("clean", [](const Robustness& r) { return r.clean; });
  for (const std::string& name : a.sets.corruptions) add(name, [&](const Robustness& r) { return r.mean_of(name); });
  for (int64_t s : a.sets.severities)
    add(fmt::format("all, severity {}", s), [&](const Robustness& r) { return r.mean_at(s); });
  add("mean", [](const Robustness& r) { return r.mean(); });
  const Robustness& first = all.front().robustness;
  return table.to_string() + fmt::format("\n{} images of {}, {}. A corruption's line is its mean over severities {}.\n",
                                         report::grouped(first.images), all.front().data,
                                         first.source.empty() ? fmt::format("corrupted here with seed {}", a.sets.seed)
                                                              : "corrupted images from " + first.source,
                                         fmt::join(a.sets.severities, " "));
}

/// Accuracy by severity: `top1(robustness, severity)` of each run.
template <class Top1>
report::Panel severity_panel(const CorruptionArguments& a, const std::vector<Measured>& all, const std::string& title,
                             const Top1& top1) {
  report::Panel panel{.title = title, .x_label = "severity", .y_label = "top-1, percent", .series = {}};
  panel.x.whole = true;
  panel.y.from_zero = true;
  for (const Measured& m : all) {
    report::Series series{m.name, {}};
    for (int64_t s : a.sets.severities) series.points.push_back({static_cast<double>(s), 100 * top1(m.robustness, s)});
    panel.series.push_back(std::move(series));
  }
  return panel;
}

/// The paper's figure: the mean of all corruptions.
report::LinePlot severity_plot(const CorruptionArguments& a, const std::vector<Measured>& all) {
  return {
      "accuracy on corrupted images",
      {severity_panel(a, all, "mean of all corruptions", [](const Robustness& r, int64_t s) { return r.mean_at(s); })}};
}

/// The paper's appendix: a panel for each corruption.
report::LinePlot panels_plot(const CorruptionArguments& a, const std::vector<Measured>& all) {
  report::LinePlot plot{"accuracy by corruption and severity", {}, 5};
  for (const std::string& name : a.sets.corruptions)
    plot.panels.push_back(
        severity_panel(a, all, name, [&](const Robustness& r, int64_t s) { return r.top1.at(name).at(s); }));
  return plot;
}

/// The paper's breakdown: accuracy by corruption, the mean of all severities.
report::BarPlot corruption_plot(const CorruptionArguments& a, const std::vector<Measured>& all) {
  report::BarPlot plot{"accuracy by corruption, mean of severities", "top-1, percent", a.sets.corruptions, {}};
  for (const Measured& m : all) {
    report::BarSeries series{m.name, {}};
    for (const std::string& name : a.sets.corruptions) series.values.push_back(100 * m.robustness.mean_of(name));
    plot.series.push_back(std::move(series));
  }
  return plot;
}

void complete(CorruptionArguments& a) {
  a.sets.images = a.images;
  if (a.sets.corruptions.empty()) a.sets.corruptions = corruptions::names();
  for (const std::string& name : a.sets.corruptions) corruptions::index_of(name);
  if (a.sets.severities.empty()) a.sets.severities = {1, 2, 3, 4, 5};
  for (const std::string& plot : a.plots) report::check_drawing_output(plot);
  for (const std::string& plot : {a.bars, a.panels})
    if (!plot.empty()) report::check_drawing_output(plot);
}

}  // namespace

void run(const CorruptionArguments& given, const Globals& globals) {
  CorruptionArguments a = given;
  complete(a);
  std::vector<Measured> all;
  const auto models = open_models(a.models, globals.quiet);
  for (const auto& model : models) all.push_back(measure(a, model, globals.quiet || a.json));
  if (a.json) {
    print_json(robustness_json(all, a.sets.seed));
  } else if (!globals.quiet) {
    fmt::print("{}{}", robustness_text(a, all), inputs_text(models));
  }
  const bool quiet = a.json || globals.quiet;
  for (const std::string& plot : a.plots) write_plot(draw(severity_plot(a, all)), plot, quiet);
  if (!a.bars.empty()) write_plot(draw(corruption_plot(a, all)), a.bars, quiet);
  if (!a.panels.empty()) write_plot(draw(panels_plot(a, all)), a.panels, quiet);
}

}  // namespace fib::cli
