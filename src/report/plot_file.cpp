// SPDX-License-Identifier: Apache-2.0
#include "report/plot_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/json.h"
#include "base/read_file.h"

namespace fib::report {
namespace {

using nlohmann::json;

constexpr size_t kMostPoints = 100'000;

AxisOptions axis_of(const json& axis) {
  AxisOptions options;
  options.log = axis.value("log", false);
  return options;
}

Series series_of(const json& line) {
  Series series{line.at("name").get<std::string>(), {}};
  for (const json& point : line.at("points"))
    series.points.push_back({point.at(0).get<double>(), point.at(1).get<double>()});
  if (series.points.size() > kMostPoints) throw std::runtime_error("more points than a plot shows");
  return series;
}

}  // namespace

LinePlot read_plot_file(const std::string& file) try {
  const json all = parse_json<json>(read_file(file, kMaxRecordBytes));
  Panel panel{.title = "", .x_label = all.at("x").at("label"), .y_label = all.at("y").at("label"), .series = {}};
  panel.x = axis_of(all.at("x")), panel.y = axis_of(all.at("y"));
  for (const json& line : all.at("series")) panel.series.push_back(series_of(line));
  return {all.at("title").get<std::string>(), {std::move(panel)}};
} catch (const json::exception&) {
  throw std::runtime_error(fmt::format(
      "'{}' holds no curves: accepted is {{\"title\", \"x\": {{\"label\"}}, \"y\": {{\"label\"}}, \"series\": "
      "[{{\"name\", \"points\": [[x, y], …]}}]}}",
      file));
}

}  // namespace fib::report
