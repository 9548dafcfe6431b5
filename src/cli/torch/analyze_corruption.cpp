// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/progress.h"
#include "cli/table.h"
#include "cli/torch/analyze_options.h"
#include "cli/torch/commands.h"
#include "data/corruptions/corruption.h"
#include "data/corruptions/published.h"
#include "data/datasets.h"
#include "report/bar_plot.h"
#include "report/line_plot.h"
#include "report/words.h"
#include "training/evaluate.h"

namespace fib::cli {
namespace {

using nlohmann::ordered_json;
using training::TrainedModel;

struct CorruptionArguments : AnalyzeArguments {
  std::vector<std::string> corruptions;
  std::vector<int64_t> severities;
  std::string published, bars;
  int64_t seed = 0;
};

/// Accuracies of one model, as shares.
struct Robustness {
  std::string name, attention, data, source;
  int64_t images = 0;
  double clean = 0;
  std::map<std::string, std::map<int64_t, double>> top1;  ///< by corruption and severity
};

double mean_of(const std::map<int64_t, double>& by_severity) {
  double sum = 0;
  for (const auto& [severity, value] : by_severity) sum += value;
  return sum / static_cast<double>(by_severity.size());
}

double mean_at(const Robustness& r, int64_t severity) {
  double sum = 0;
  for (const auto& [name, by_severity] : r.top1) sum += by_severity.at(severity);
  return sum / static_cast<double>(r.top1.size());
}

double mean_of_all(const Robustness& r) {
  double sum = 0;
  for (const auto& [name, by_severity] : r.top1) sum += mean_of(by_severity);
  return sum / static_cast<double>(r.top1.size());
}

/// The folder of the published files: as given, or where it would lie beside the clean data. Empty: they are made.
std::string published_folder(const CorruptionArguments& a, const TrainedModel& subject) {
  if (!a.published.empty()) return a.published;
  const std::map<std::string, std::string> known = {{"cifar10", "CIFAR-10-C"}, {"cifar100", "CIFAR-100-C"}};
  const auto found = known.find(subject.dataset->info().name);
  if (found == known.end()) return "";
  const std::filesystem::path folder = data_root() / found->second;
  return std::filesystem::is_directory(folder) ? folder.string() : "";
}

DatasetPtr corrupted_images(const CorruptionArguments& a, const TrainedModel& subject, const std::string& folder,
                            const corruptions::Corruption& c) {
  DatasetPtr all;
  if (folder.empty())
    all = std::make_shared<corruptions::CorruptedDataset>(subject.dataset, c);
  else
    all = std::make_shared<corruptions::PublishedDataset>(subject.dataset, corruptions::published_file(folder, c.name),
                                                          c.severity);
  return training::evenly_chosen(all, static_cast<size_t>(a.images));
}

double top1_on(const TrainedModel& subject, const DatasetPtr& images) {
  training::ProcessGroup alone;
  return training::evaluate(*subject.module, *subject.loader(images), alone).top1;
}

Robustness measure_robustness(const CorruptionArguments& a, const TrainedModel& subject, bool quiet) {
  training::check_labels(*subject.dataset, *subject.module);
  const std::string folder = published_folder(a, subject);
  const DatasetPtr clean = chosen_images(a, subject);
  Robustness r{subject.name,
               subject.attention,
               subject.data,
               folder.empty() ? "generated" : folder,
               static_cast<int64_t>(clean->size()),
               top1_on(subject, clean),
               {}};
  Progress progress("sets", static_cast<int64_t>(a.corruptions.size() * a.severities.size()), quiet);
  int64_t done = 0;
  for (const std::string& name : a.corruptions) {
    for (int64_t severity : a.severities) {
      const corruptions::Corruption c{name, static_cast<int>(severity), static_cast<uint64_t>(a.seed)};
      r.top1[name][severity] = top1_on(subject, corrupted_images(a, subject, folder, c));
      progress.show(++done, subject.name + ", " + name);
    }
  }
  return r;
}

ordered_json robustness_json(const std::vector<Robustness>& all, int64_t seed) {
  ordered_json list = ordered_json::array();
  for (const Robustness& r : all) {
    ordered_json rows = ordered_json::array();
    for (const auto& [name, by_severity] : r.top1) {
      for (const auto& [severity, top1] : by_severity)
        rows.push_back({{"corruption", name}, {"severity", severity}, {"top1", top1}});
    }
    list.push_back({{"name", r.name},
                    {"attention", r.attention},
                    {"data", r.data},
                    {"source", r.source},
                    {"images", r.images},
                    {"clean_top1", r.clean},
                    {"mean_top1", mean_of_all(r)},
                    {"corruptions", rows}});
  }
  return {{"seed", seed}, {"rows", list}};
}

std::string top1_text(double share) { return fmt::format("{:.2f} %", 100 * share); }

std::string robustness_text(const CorruptionArguments& a, const std::vector<Robustness>& all) {
  using enum Table::Align;
  std::vector<Table::Column> columns = {{"top-1"}};
  for (const Robustness& r : all) columns.push_back({r.name, right});
  Table table(std::move(columns));
  const auto add = [&](std::string label, const auto& value) {
    std::vector<std::string> cells = {std::move(label)};
    for (const Robustness& r : all) cells.push_back(top1_text(value(r)));
    table.add_row(std::move(cells));
  };
  add("clean", [](const Robustness& r) { return r.clean; });
  for (const std::string& name : a.corruptions)
    add(name, [&](const Robustness& r) { return mean_of(r.top1.at(name)); });
  for (int64_t s : a.severities)
    add(fmt::format("all, severity {}", s), [&](const Robustness& r) { return mean_at(r, s); });
  add("mean", mean_of_all);
  const Robustness& first = all.front();
  return table.to_string() + fmt::format("\n{} images of {}, {}. A corruption's line is its mean over severities {}.\n",
                                         report::grouped(first.images), first.data,
                                         first.source == "generated"
                                             ? fmt::format("corrupted here with seed {}", a.seed)
                                             : "corrupted images from " + first.source,
                                         fmt::join(a.severities, " "));
}

/// The paper's figure: accuracy by severity, the mean of all corruptions.
report::LinePlot severity_plot(const CorruptionArguments& a, const std::vector<Robustness>& all) {
  report::Panel panel{"mean of all corruptions", "top-1, percent", {}};
  for (const Robustness& r : all) {
    report::Series series{r.name, {}};
    for (int64_t s : a.severities) series.points.push_back({static_cast<double>(s), 100 * mean_at(r, s), ""});
    panel.series.push_back(std::move(series));
  }
  return {"accuracy on corrupted images", "severity", {std::move(panel)}};
}

/// The paper's breakdown: accuracy by corruption, the mean of all severities.
report::BarPlot corruption_plot(const CorruptionArguments& a, const std::vector<Robustness>& all) {
  report::BarPlot plot{"accuracy by corruption, mean of severities", "top-1, percent", a.corruptions, {}};
  for (const Robustness& r : all) {
    report::BarSeries series{r.name, {}};
    for (const std::string& name : a.corruptions) series.values.push_back(100 * mean_of(r.top1.at(name)));
    plot.series.push_back(std::move(series));
  }
  return plot;
}

void complete(CorruptionArguments& a) {
  if (a.corruptions.empty()) a.corruptions = corruptions::names();
  for (const std::string& name : a.corruptions) corruptions::index_of(name);
  if (a.severities.empty()) a.severities = {1, 2, 3, 4, 5};
  for (const std::string& plot : a.plots) report::check_plot_name(plot);
  if (!a.bars.empty()) report::check_plot_name(a.bars);
}

void run(CorruptionArguments a, const Globals& globals) {
  complete(a);
  std::vector<Robustness> all;
  for (const auto& subject : open_subjects(a.subjects))
    all.push_back(measure_robustness(a, subject, globals.quiet || a.json));
  for (const std::string& plot : a.plots) report::write_plot(severity_plot(a, all), plot);
  if (!a.bars.empty()) report::write_plot(corruption_plot(a, all), a.bars);
  if (a.json) {
    fmt::print("{}\n", robustness_json(all, a.seed).dump());
  } else if (!globals.quiet) {
    fmt::print("{}", robustness_text(a, all));
  }
}

}  // namespace

void add_analyze_corruption(CLI::App& command, const Globals& globals) {
  const auto a = std::make_shared<CorruptionArguments>();
  add_analyze_options(command, *a, 1000);
  add_plot_option(command, *a, "accuracy by severity");
  command.add_option("--bars", a->bars, "accuracy by corruption as .svg or .png")->type_name("FILE");
  command.add_option("--corruption", a->corruptions, "only these: names divided by commas")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,…");
  add_integers(command, "--severity", a->severities, {1, corruptions::kSeverities}, "only these, of 1 to 5");
  command.add_option("--published", a->published, "folder with the .npy files of CIFAR-10-C or CIFAR-100-C")
      ->type_name("DIR");
  add_integer(command, "--seed", a->seed, {0, INT64_MAX}, "of the corruptions made here")->capture_default_str();
  command.footer(
      "Published files are used where they lie: --published, else CIFAR-10-C or CIFAR-100-C below the data root. "
      "Otherwise\nthe clean test images are corrupted with the published parameters; frost has a texture of ours.\n"
      "Example: fib analyze corruption --run runs/full --run runs/fibottention --images 1000 --plot corruption.svg");
  command.callback([a, &globals] { run(*a, globals); });
}

}  // namespace fib::cli
