// SPDX-License-Identifier: Apache-2.0
#include "report/torch/sequences/sequence_page.h"

#include <algorithm>

#include "base/read_file.h"
#include "sequences/torch/trained_text.h"
#include "training/run/directory.h"
#include "training/run/summary.h"

namespace fib::report {
namespace {

using sequences::Forecast;

constexpr int64_t kSymbols = 600;

std::string written(const std::string& directory) {
  const sequences::TrainedText text = sequences::open_text(directory);
  sequences::CachedDecoder model(*text.model);
  sequences::Writer writer(model, {.temperature = 0.8}, 0);
  // A text begins after a line's end, where it knows lines.
  const std::string characters = text.vocabulary.text();
  const bool lines = characters.empty() || characters.find('\n') != std::string::npos;
  writer.read(lines ? text.vocabulary.encode("\n") : std::vector<int32_t>{0});
  std::vector<int32_t> symbols;
  for (int64_t i = 0; i < kSymbols; ++i) symbols.push_back(writer.next());
  std::string made = text.vocabulary.decode(symbols);
  const auto acts = [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t'; };
  std::ranges::replace_if(made, acts, '?');  // bytes may be anything
  return made;
}

void add_forecast(LearnedSequence& learned, const std::string& directory) {
  const sequences::TrainedSeries trained = sequences::open_series(directory);
  const std::filesystem::path file = sequences::series_source(trained.recipe.data.source).file;
  if (!std::filesystem::exists(file)) {
    learned.note = "There is no forecast: " + file.string() + " is not there any more.";
    return;
  }
  const sequences::Series series = sequences::read_series(file);
  const int64_t horizon = sequences::series_options(trained.recipe).horizon;
  learned.forecast = forecast_plot(series, sequences::forecast(trained, series, series.rows() - horizon), horizon);
}

std::vector<PlotPoint> points_of(const std::vector<double>& values, int64_t first) {
  std::vector<PlotPoint> points;
  for (size_t i = 0; i < values.size(); ++i)
    points.push_back({static_cast<double>(first) + static_cast<double>(i), values[i]});
  return points;
}

}  // namespace

bool is_sequence_run(const std::string& directory) {
  const std::string task = training::RunFiles{directory}.recipe().run.task;
  return task == "text" || task == "series";
}

PageRun sequence_run(const std::string& directory) {
  const training::RunFiles files{directory};
  const training::Summary summary = training::read_summary(files);
  PageRun run;
  run.directory = directory;
  run.record = read_run(directory);
  run.parameters = summary.parameters;
  run.config = read_file(files.config(), kMaxRecipeBytes);
  LearnedSequence learned{.figures = summary.test.evaluation.metrics};
  if (files.recipe().run.task == "text") {
    learned.text = written(directory);
  } else {
    add_forecast(learned, directory);
  }
  run.sequence = std::move(learned);
  return run;
}

std::vector<double> forecast_column(const Forecast& f, const sequences::Series& series, int64_t column) {
  std::vector<double> steps;
  for (size_t i = static_cast<size_t>(column); i < f.values.size(); i += series.columns.size())
    steps.push_back(static_cast<double>(f.values[i]));
  return steps;
}

LinePlot forecast_plot(const sequences::Series& series, const Forecast& f, int64_t horizon) {
  constexpr size_t kPanelsInARow = 3;
  LinePlot plot{.title = "", .panels = {}, .columns = series.width() > 1 ? kPanelsInARow : 0};
  const int64_t first = std::max<int64_t>(0, f.begin - 2 * horizon);
  for (int64_t c = 0; c < series.width(); ++c) {
    std::vector<double> known;
    for (int64_t r = first; r < std::min(series.rows(), f.begin + horizon); ++r)
      known.push_back(static_cast<double>(series.values[static_cast<size_t>(r * series.width() + c)]));
    Panel panel{.title = series.columns[static_cast<size_t>(c)], .x_label = "step", .y_label = "", .series = {}};
    panel.series.push_back({"series", points_of(known, first - f.begin), size_t{0}});
    panel.series.push_back({"forecast", points_of(forecast_column(f, series, c), 0), size_t{1}});
    plot.panels.push_back(std::move(panel));
  }
  return plot;
}

}  // namespace fib::report
