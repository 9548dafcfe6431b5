// SPDX-License-Identifier: Apache-2.0
// Every cell of every table of the paper is shown by an entry of `fib reproduce`.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>

#include "analysis/ablations/commands.h"
#include "analysis/paper/tables.h"
#include "files.h"
#include "report/ablation_report.h"
#include "report/pattern_summary.h"
#include "report/torch/analyses.h"

namespace fib::report {
namespace {

using ablations::Ablation;
using ablations::Request;
using ablations::Scale;
using Texts = std::vector<std::string>;

const std::filesystem::path kRecipeFolder = FIB_TEST_DATA "/../../recipes";

Texts cells_of(const std::string& line) {
  static const std::regex kGap(" {2,}");
  return {std::sregex_token_iterator(line.begin(), line.end(), kGap, -1), {}};
}

std::vector<Texts> lines_of(const std::string& text) {
  std::vector<Texts> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(cells_of(line));
  return lines;
}

void append(Texts& all, const Texts& more) { all.insert(all.end(), more.begin(), more.end()); }

// ---- What entries show of the paper

/// Of a table of trained rows: the columns of the paper, by its header; what was measured here stands before them.
Texts shown_beside_rows(const Ablation& a, const Request& request) {
  const auto lines = lines_of(reproduced_text(a, plan(a, request), request.scale));
  const auto header = std::ranges::find_if(lines, [](const Texts& cells) { return cells.front() == "row"; });
  const auto column = [&](const std::string& beginning) {
    const auto found = std::ranges::find_if(*header, [&](const std::string& c) { return c.starts_with(beginning); });
    return static_cast<size_t>(found - header->begin());
  };
  const size_t ratio = column("the paper's"), numbers = column("paper, ");
  Texts shown;
  for (const auto& row : a.rows) {
    const auto line = std::ranges::find_if(lines, [&](const Texts& cells) { return cells.front() == row.label; });
    for (size_t i = 0; i < line->size(); ++i)
      if (i == ratio || i >= numbers) shown.push_back((*line)[i]);
  }
  return shown;
}

Texts shown_settings(const Ablation& a, Request request) {
  request.scale = Scale::paper;
  Texts shown;
  for (const Texts& line : lines_of(settings_text(a, recipes_of(a, request))))
    if (line.size() > 1) shown.push_back(line[1]);
  return shown;
}

/// Runs of the table's mechanisms, which found nothing.
AnalyzedModel analyzed(const std::string& attention) { return {"a run", attention, "cifar10", {}}; }

Texts shown_with_diversity() {
  std::vector<DiversityRow> rows;
  for (const paper::TableRow& row : paper::find_table("diversity").rows)
    rows.push_back({analyzed(row.attention), 12, {}, paper::head_diversity(row.attention)});
  Texts shown;
  for (const Texts& line : lines_of(diversity_text(rows)))
    if (std::ranges::any_of(line, [](const std::string& cell) { return cell.starts_with("the paper's"); }))
      append(shown, line);
  return shown;
}

Texts shown_with_bias() {
  const std::string text = bias_text({{analyzed("full"), "boxes", 12, {}}});
  static const std::regex kNumber("[0-9.]+e-[0-9]+");
  const std::string after = text.substr(text.find("The paper's variances"));
  return {std::sregex_token_iterator(after.begin(), after.end(), kNumber), {}};
}

Texts shown_array(const Ablation& a) {
  const Texts words = ablations::showings(a, {}, Scale::tiny, "it").front().words;
  EXPECT_EQ(words[0] + " " + words[1], "pattern --array");
  Texts shown;
  for (const auto& row : wythoff_table(words[2], std::ranges::count(words, "--modified") > 0).rows)
    for (const int64_t element : row) shown.push_back(std::to_string(element));
  return shown;
}

Texts shown_by(const Ablation& a, const Request& request) {
  if (a.paper == "wythoff") return shown_array(a);
  if (!a.settings.empty()) return shown_settings(a, request);
  if (a.paper == "diversity") return shown_with_diversity();
  if (a.name == "inductive-bias") return shown_with_bias();
  return shown_beside_rows(a, request);
}

// ---- What the paper has

bool is_ratio(const std::string& column) { return column.ends_with("Pruning Ratio") || column.ends_with("Mask Ratio"); }

double unit_of(const std::string& column) {
  for (const auto& data : ablations::ablation_data())
    if (data.column == column) return data.paper_unit;
  return 1;
}

/// How a number looks in the program: ratios and diversity with two digits, accuracies with one or two.
std::string printed(const paper::Table& table, const std::string& column, double value) {
  if (is_ratio(column)) return fmt::format("{:.2f} %", value);
  if (table.name == "diversity") return fmt::format("{:.2f}", value);
  if (table.name == "inductive-bias") return fmt::format("{:.2e}", value);
  if (table.name == "wythoff" || table.name == "settings") return fmt::format("{}", value);
  const std::string text = fmt::format("{:.2f}", value * unit_of(column));
  return text.ends_with('0') ? text.substr(0, text.size() - 1) : text;
}

Texts printed_cells(const paper::Table& table) {
  Texts cells;
  for (const paper::TableRow& row : table.rows)
    for (size_t c = 0; c < row.cells.size(); ++c) {
      const auto* number = std::get_if<double>(&row.cells[c]);
      cells.push_back(number ? printed(table, table.columns[c], *number) : std::get<std::string>(row.cells[c]));
    }
  return cells;
}

TEST(PaperCells, are_all_shown_by_entries_of_reproduce) {
  std::map<std::string, Texts> shown;
  for (const Ablation& a : ablations::read_ablations(kRecipeFolder / "ablations")) {
    const std::string table = a.name == "inductive-bias" ? a.name : a.paper;
    if (!table.empty()) append(shown[table], shown_by(a, {Scale::tiny, 1, {}, kRecipeFolder, "out"}));
  }
  size_t cells = 0;
  for (const paper::Table& table : paper::tables()) {
    SCOPED_TRACE(table.name);
    for (const std::string& cell : printed_cells(table)) {
      const auto found = std::ranges::find(shown[table.name], cell);
      EXPECT_NE(found, shown[table.name].end()) << cell << " is not shown as often as the paper has it";
      if (found != shown[table.name].end()) shown[table.name].erase(found);
      ++cells;
    }
  }
  EXPECT_EQ(cells, 377U) << "367 numbers and ten texts";
}

// ---- What footers name

TEST(AnalysisTexts, name_all_data_that_models_looked_at) {
  AnalyzedModel first = analyzed("full"), second = analyzed("full");
  second.data = "mnist";
  analysis::FiveNumbers numbers;
  numbers.count = 1000;
  EXPECT_TRUE(test::mentions(diversity_text({{first, 4, numbers, {}}, {second, 4, numbers, {}}}),
                             "1,000 images of cifar10, 1,000 images of mnist"));
  EXPECT_TRUE(test::mentions(diversity_text({{first, 4, numbers, {}}, {first, 4, numbers, {}}}),
                             "layer 4, 1,000 images of cifar10. The paper's"));
  analysis::Robustness robustness;
  robustness.images = 200;
  EXPECT_TRUE(test::mentions(robustness_text({{first, robustness}, {second, robustness}}, {}),
                             "200 images of cifar10, 200 images of mnist"));
  EXPECT_TRUE(test::mentions(bias_text({{first, "boxes", 4, {}}, {second, "boxes", 4, {}}}),
                             "0 images of cifar10, 0 images of mnist"));
}

}  // namespace
}  // namespace fib::report
