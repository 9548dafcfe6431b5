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
#include "report/torch/sequences/sequence_page.h"
#include "sequences/torch/series_task.h"

namespace fib::cli {
namespace {

using report::Table;
using sequences::Forecast;
using sequences::Series;
using sequences::TrainedSeries;

nlohmann::ordered_json forecast_json(const TrainedSeries& trained, const Series& series, const Forecast& f) {
  nlohmann::ordered_json columns;
  for (int64_t c = 0; c < series.width(); ++c)
    columns[series.columns[static_cast<size_t>(c)]] = report::forecast_column(f, series, c);
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
    const std::vector<double> steps = report::forecast_column(f, series, c);
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
  if (!a.plot.empty()) write_plot(draw(report::forecast_plot(series, f, horizon)), a.plot, a.json || globals.quiet);
}

}  // namespace fib::cli
