// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "analysis/paper/tables.h"
#include "attention/registry.h"
#include "fibottention/pattern.h"

namespace fib::paper {
namespace {

/// Of the numbers of a table in reading order: how many, their sum, and the sum with each times its place from 1.
struct Checksum {
  size_t rows, numbers;
  double sum, by_place;
};

/// Taken from the paper's source by a second reading, apart from the files. A typing error changes the sum, two cells
/// exchanged the sum by place.
const std::map<std::string, Checksum>& second_reading() {
  static const std::map<std::string, Checksum> checksums = {
      {"tab:mod-wythoff-array", {5, 35, 570, 14488}},
      {"tab:sota", {9, 45, 3364.95, 79886.25}},
      {"tab:backbones", {10, 50, 3567.7, 92692.4}},
      {"tab:pruning_results", {6, 42, 3030.34, 67570.41}},
      {"tab:video", {4, 12, 566.6, 3828.8}},
      {"tab:robotics", {4, 12, 10.258, 65.604}},
      {"tab:diversity", {6, 30, 1390.68, 23479.28}},
      {"tab:sequences", {5, 10, 734.7, 3986.7}},
      {"tab:in1k_settings", {27, 17, 175.838932, 1252.199981}},
      {"tab:random-attention", {7, 28, 1957.8, 27874.9}},
      {"tab:bigbird_results", {3, 6, 544.14, 1885.23}},
      {"tab:local-w-wo-diagonal", {5, 30, 2343.56, 35339.79}},
      {"tab:window_sizes", {16, 48, 3517.17, 79127.63}},
      {"sec:inductivebias", {2, 2, 11.09e-5, 13.42e-5}},
  };
  return checksums;
}

Checksum checksum_of(const Table& table) {
  Checksum c{table.rows.size(), 0, 0, 0};
  for (const TableRow& row : table.rows) {
    for (const Cell& cell : row.cells) {
      const double* value = std::get_if<double>(&cell);
      if (!value) continue;
      c.sum += *value;
      c.by_place += *value * static_cast<double>(++c.numbers);
    }
  }
  return c;
}

double pruned(const std::string& attention, int64_t patches = 196) {
  return 100 * make_support(AttentionSpec::parse(attention), {.patches = patches}).pruning_ratio();
}

TEST(PaperTables, equal_a_second_reading_of_the_paper) {
  std::set<std::string> labels;
  for (const Table& table : tables()) {
    SCOPED_TRACE(table.label);
    ASSERT_TRUE(second_reading().contains(table.label));
    const Checksum& expected = second_reading().at(table.label);
    const Checksum found = checksum_of(table);
    EXPECT_EQ(found.rows, expected.rows);
    EXPECT_EQ(found.numbers, expected.numbers);
    EXPECT_NEAR(found.sum, expected.sum, 1e-9 * found.sum);
    EXPECT_NEAR(found.by_place, expected.by_place, 1e-9 * found.by_place);
    labels.insert(table.label);
  }
  EXPECT_EQ(labels.size(), second_reading().size()) << "every table of the paper, once";
}

TEST(PaperTables, have_a_caption_and_mechanisms_that_exist) {
  for (const Table& table : tables()) {
    EXPECT_FALSE(table.caption.empty()) << table.name;
    for (const TableRow& row : table.rows) {
      if (row.attention.empty()) continue;
      EXPECT_NO_THROW(attention::check_spec(AttentionSpec::parse(row.attention))) << row.attention;
    }
  }
}

TEST(PaperTables, give_cells_by_row_and_column) {
  const Table& sota = find_table("sota");
  EXPECT_EQ(sota.number("Fibottention", "C100"), 70.7);
  EXPECT_EQ(sota.number("Fibottention", "C1000"), std::nullopt);
  EXPECT_THROW(sota.number("Fibotention", "C10"), std::invalid_argument);
  EXPECT_EQ(find_table("settings").number("Optimizer", "Setting"), std::nullopt) << "text";
  EXPECT_THROW(find_table("sotas"), std::invalid_argument);
}

TEST(PaperTables, have_the_wythoff_array_that_we_compute) {
  const Table& table = find_table("wythoff");
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const auto row = static_cast<int64_t>(i) + 1;
    const SequenceStart modified = modified_wythoff_row(row);
    std::vector<int64_t> elements = {modified.a, modified.b};
    while (elements.size() < table.columns.size()) elements.push_back(elements.end()[-1] + elements.end()[-2]);
    for (size_t c = 0; c < elements.size(); ++c)
      EXPECT_EQ(std::get<double>(table.rows[i].cells[c]), static_cast<double>(elements[c])) << row << " " << c;
  }
}

TEST(PaperTables, print_the_pruning_ratios_that_windows_have) {
  for (const TableRow& row : find_table("windows").rows) {
    if (row.name == "w = 196") continue;  // printed as 0 %, which is with the diagonal
    EXPECT_NEAR(pruned("local:w=" + row.name.substr(4)), std::get<double>(row.cells[2]), 0.0051) << row.name;
  }
  for (const TableRow& row : find_table("diagonal").rows) {
    const std::string w = row.name.substr(4);
    EXPECT_NEAR(pruned("local:diagonal=true,w=" + w), std::get<double>(row.cells[0]), 0.0051) << w;
    EXPECT_NEAR(pruned("local:w=" + w), std::get<double>(row.cells[3]), 0.0051) << w;
  }
}

TEST(PaperTables, contradict_each_other_as_the_paper_map_says) {
  const Table &sota = find_table("sota"), &pruning = find_table("pruning"), &random = find_table("random");
  EXPECT_NE(sota.number("Fibottention", "C10"), pruning.number("Fibottention", "ViT-B / C10"));
  EXPECT_NE(sota.number("Fibottention", "C100"), pruning.number("Fibottention", "ViT-B / C100"));
  EXPECT_NE(sota.number("Full Attention", "C10"), random.number("0 %", "w/ Class Token / C10"));
  EXPECT_NE(find_table("diagonal").number("w = 10", "w/o Main Diagonal / C10"),
            find_table("windows").number("w = 10", "C10"));
  EXPECT_LT(*sota.number("Random Attention", "C10"), *random.number("100 %", "w/ Class Token / C10"));
}

TEST(PaperTables, know_the_head_diversity_of_a_mechanism) {
  const auto full = head_diversity("full");
  ASSERT_TRUE(full.has_value());
  EXPECT_EQ(full->min, 27.57);
  EXPECT_EQ(full->q1, 37.68);
  EXPECT_EQ(full->median, 43.0);
  EXPECT_EQ(full->q3, 48.85);
  EXPECT_EQ(full->max, 61.53);
  EXPECT_FALSE(head_diversity("topk").has_value());
}

}  // namespace
}  // namespace fib::paper
