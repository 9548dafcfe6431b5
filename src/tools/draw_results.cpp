// SPDX-License-Identifier: Apache-2.0
// draw-results DATA.json… FOLDER: the drawings that files of docs/results describe, into a folder. A developer's tool,
// run by scripts/results-tables.py --draw. A file may have "drawings", each of some of its columns:
//   {"file": "a.svg", "kind": "boxes", "title", "label", "columns": five}    a row is a box, the paper's beside it
//   {"file": "b.svg", "kind": "bars" or "dots", …, "columns": several}       a row is a line, a column a color
//   {"file": "c.svg", "kind": "lines", …, "columns": several, "x": numbers, "x_label"}    a row is a curve
#include <cmath>
#include <exception>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "analysis/paper/tables.h"
#include "base/json.h"
#include "base/read_file.h"
#include "report/plot.h"

namespace fib {
namespace {

using Json = nlohmann::json;
using report::Drawing;

/// The places of the drawing's columns in the rows of the file.
std::vector<size_t> places(const Json& data, const Json& drawing) {
  std::vector<size_t> found;
  for (const Json& title : drawing.at("columns")) {
    const Json& columns = data.at("columns");
    size_t i = 0;
    while (i < columns.size() && columns[i].at("title") != title) ++i;
    if (i == columns.size()) throw std::invalid_argument("no column " + title.dump() + " in the table");
    found.push_back(i);
  }
  return found;
}

std::string row_name(const Json& row) {
  std::string name = row.at(0);
  std::erase(name, '`');
  return name;
}

Drawing boxes(const Json& data, const Json& drawing, const std::vector<size_t>& at) {
  report::BoxPlot plot{drawing.at("title"), drawing.at("label"), {}};
  for (const Json& row : data.at("rows")) {
    const std::string name = row_name(row);
    plot.boxes.push_back({name, row[at.at(0)], row[at.at(1)], row[at.at(2)], row[at.at(3)], row[at.at(4)]});
    if (const auto p = paper::head_diversity(name))
      plot.boxes.push_back({"paper: " + name, p->min, p->q1, p->median, p->q3, p->max, true});
  }
  return draw(plot);
}

Drawing bars(const Json& data, const Json& drawing, const std::vector<size_t>& at) {
  report::BarPlot plot{drawing.at("title"), drawing.at("label"), {}, {}, drawing.at("kind") == "dots"};
  for (const Json& row : data.at("rows")) plot.categories.push_back(row_name(row));
  for (size_t column = 0; column < at.size(); ++column) {
    report::BarSeries& series = plot.series.emplace_back();
    series.name = drawing["columns"][column];
    for (const Json& row : data["rows"])
      series.values.push_back(row[at[column]].is_null() ? std::nan("") : row[at[column]].get<double>());
  }
  return draw(plot);
}

Drawing lines(const Json& data, const Json& drawing, const std::vector<size_t>& at) {
  report::Panel panel{.title = "", .x_label = drawing.at("x_label"), .y_label = drawing.at("label"), .series = {}};
  for (const Json& row : data.at("rows")) {
    report::Series& series = panel.series.emplace_back(report::Series{row_name(row), {}});
    for (size_t column = 0; column < at.size(); ++column)
      if (!row[at[column]].is_null())
        series.points.push_back({drawing.at("x").at(column), row[at[column]].get<double>()});
  }
  return draw(report::LinePlot{drawing.at("title"), {panel}});
}

Drawing drawn(const Json& data, const Json& drawing) {
  const std::string kind = drawing.at("kind");
  const std::vector<size_t> at = places(data, drawing);
  if (kind == "boxes") return boxes(data, drawing, at);
  if (kind == "bars" || kind == "dots") return bars(data, drawing, at);
  if (kind == "lines") return lines(data, drawing, at);
  throw std::invalid_argument("kind '" + kind + "': accepted are boxes, bars, dots and lines");
}

void draw_file(const std::filesystem::path& file, const std::filesystem::path& folder) {
  const Json data = parse_json<Json>(read_file(file, int64_t{1} << 24));
  if (!data.contains("drawings")) return;
  for (const Json& drawing : data["drawings"]) {
    const std::string path = (folder / drawing.at("file").get<std::string>()).string();
    report::write_drawing(drawn(data, drawing), path);
    std::cout << path << "\n";
  }
}

}  // namespace
}  // namespace fib

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "draw-results: got " << argc - 1 << " arguments, accepted are DATA.json… FOLDER\n";
    return 2;
  }
  for (int i = 1; i + 1 < argc; ++i) {
    try {
      fib::draw_file(argv[i], argv[argc - 1]);
    } catch (const std::exception& error) {
      std::cerr << "draw-results: " << argv[i] << ": " << error.what() << "\n";
      return 1;
    }
  }
  return 0;
}
