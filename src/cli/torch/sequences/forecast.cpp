// SPDX-License-Identifier: Apache-2.0
// fib forecast.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/commands/sequences.h"
#include "cli/output.h"
#include "cli/standard_streams.h"
#include "report/plot.h"
#include "report/text.h"
#include "sequences/torch/series_task.h"

namespace fib::cli {
namespace {

using report::Table;
using sequences::Forecast;
using sequences::Series;
using sequences::TrainedSeries;

/// Steps of the forecast of one column.
std::vector<double> column_of(const Forecast& f, const Series& series, int64_t column) {
  std::vector<double> steps;
  for (size_t i = static_cast<size_t>(column); i < f.values.size(); i += series.columns.size())
    steps.push_back(static_cast<double>(f.values[i]));
  return steps;
}

nlohmann::ordered_json forecast_json(const TrainedSeries& trained, const Series& series, const Forecast& f) {
  nlohmann::ordered_json columns;
  for (int64_t c = 0; c < series.width(); ++c)
    columns[series.columns[static_cast<size_t>(c)]] = column_of(f, series, c);
  nlohmann::ordered_json json = {{"model", trained.recipe.model.name},
                                 {"attention", trained.recipe.model.attention},
                                 {"first_row", f.begin},
                                 {"horizon", sequences::series_options(trained.recipe).horizon},
                                 {"forecast", columns}};
  if (!series.dates.empty()) json["after"] = series.dates[static_cast<size_t>(f.begin - 1)];
  if (f.errors) {
    json["mse"] = f.errors->square;
    json["mae"] = f.errors->absolute;
  }
  return json;
}

std::string forecast_text(const Series& series, const Forecast& f) {
  using enum Table::Align;
  Table table({{"column", left}, {"last seen", right}, {"next", right}, {"last forecast", right}});
  const auto number = [](double value) { return fmt::format("{:.4g}", value); };
  for (int64_t c = 0; c < series.width(); ++c) {
    const std::vector<double> steps = column_of(f, series, c);
    const auto seen = series.values[static_cast<size_t>((f.begin - 1) * series.width() + c)];
    table.add_row({series.columns[static_cast<size_t>(c)], number(static_cast<double>(seen)), number(steps.front()),
                   number(steps.back())});
  }
  std::string text = table.to_string();
  if (f.errors)
    text += fmt::format("MSE {:.4f}, MAE {:.4f}, in deviations of the training part\n", f.errors->square,
                        f.errors->absolute);
  return text;
}

std::vector<report::PlotPoint> points_of(const std::vector<double>& values, int64_t first) {
  std::vector<report::PlotPoint> points;
  for (size_t i = 0; i < values.size(); ++i)
    points.push_back({static_cast<double>(first) + static_cast<double>(i), values[i]});
  return points;
}

/// A panel for each column: the end of what was seen, the forecast from step 0 and, where it is known, what came.
report::LinePlot forecast_plot(const Series& series, const Forecast& f, int64_t horizon) {
  constexpr size_t kPanelsInARow = 3;
  report::LinePlot plot{.title = "", .panels = {}, .columns = series.width() > 1 ? kPanelsInARow : 0};
  const int64_t first = std::max<int64_t>(0, f.begin - 2 * horizon);
  for (int64_t c = 0; c < series.width(); ++c) {
    std::vector<double> known;
    for (int64_t r = first; r < std::min(series.rows(), f.begin + horizon); ++r)
      known.push_back(static_cast<double>(series.values[static_cast<size_t>(r * series.width() + c)]));
    report::Panel panel{
        .title = series.columns[static_cast<size_t>(c)], .x_label = "step", .y_label = "", .series = {}};
    panel.series.push_back({"series", points_of(known, first - f.begin), size_t{0}});
    panel.series.push_back({"forecast", points_of(column_of(f, series, c), 0), size_t{1}});
    plot.panels.push_back(std::move(panel));
  }
  return plot;
}

}  // namespace

void run(const ForecastArguments& a, const Globals& globals) {
  if (!a.plot.empty()) report::check_drawing_output(a.plot);
  StandardStreams streams(a.json ? "--json" : "");
  const TrainedSeries trained = sequences::open_series(a.run);
  const Series series = sequences::read_series(streams.input("--input", a.input));
  const int64_t horizon = sequences::series_options(trained.recipe).horizon;
  const Forecast f = sequences::forecast(trained, series, a.held_out ? series.rows() - horizon : series.rows());
  if (a.json) {
    print_json(forecast_json(trained, series, f));
  } else if (!globals.quiet) {
    fmt::print("{}", forecast_text(series, f));
  }
  if (!a.plot.empty()) write_plot(draw(forecast_plot(series, f, horizon)), a.plot, a.json || globals.quiet);
}

}  // namespace fib::cli
