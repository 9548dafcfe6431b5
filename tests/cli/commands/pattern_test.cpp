// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "cli/run_fib.h"

namespace {

using nlohmann::json;
using Integers = std::vector<int64_t>;

json pattern_json(const std::string& arguments) {
  const Outcome o = run_fib("pattern --json " + arguments);
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.err, "");
  return json::parse(o.out);
}

double pruned_percent(const std::string& attention) {
  return 100.0 * pattern_json("--attention " + attention).at("pruning_ratio").get<double>();
}

std::vector<Integers> offsets_of(const json& pattern) {
  std::vector<Integers> offsets;
  for (const auto& head : pattern.at("heads")) offsets.push_back(head.at("offsets"));
  return offsets;
}

}  // namespace

TEST(FibPattern, gives_the_papers_numbers) {
  const json p = pattern_json("--tokens 196 --heads 12 --wmin 5 --wmax 65");
  EXPECT_EQ(p.at("tokens"), 196);
  EXPECT_EQ(p.at("cls"), 1);
  EXPECT_EQ(p.at("pairs"), 9192);
  EXPECT_NEAR(p.at("pruning_ratio"), 0.98006, 5e-6);
  EXPECT_NEAR(p.at("pruning_ratio_with_cls"), 0.97014, 5e-6);
  EXPECT_NEAR(p.at("bound"), 2.0 * 196 * 12 * (2.08 * std::log((std::sqrt(5.0) + 1) * 65) - 1), 1e-6);
  EXPECT_NEAR(p.at("bound_for_any_window"), 4.16 * 196 * 12 * std::log(3.3 * 196), 1e-6);
  EXPECT_EQ(offsets_of(p), (std::vector<Integers>{{1, 2, 3, 5},
                                                  {4, 7},
                                                  {6, 10},
                                                  {9, 15},
                                                  {12, 20},
                                                  {14, 23},
                                                  {17, 28},
                                                  {19, 31},
                                                  {22, 36},
                                                  {25, 41},
                                                  {27, 44},
                                                  {30, 49}}));
  const json& first = p.at("heads").at(0);
  EXPECT_EQ(first.at("head"), 1);
  EXPECT_EQ(first.at("window"), 5);
  EXPECT_EQ(first.at("pairs"), 1546);
}

TEST(FibPattern, gives_the_modified_variant) {
  const json p = pattern_json("--modified");
  EXPECT_EQ(p.at("pairs"), 17446);
  EXPECT_NEAR(p.at("pruning_ratio"), 0.96216, 5e-6);
  EXPECT_NEAR(p.at("bound"), 2.0 * 196 * 12 * (2.08 * std::log(std::sqrt(5.0) * 65 + std::numbers::phi) + 1), 1e-6);
  EXPECT_GT(p.at("bound_of_heads"), p.at("pairs"));
  EXPECT_LT(p.at("bound_of_heads"), p.at("bound"));
  EXPECT_LT(p.at("bound"), p.at("bound_for_any_window"));
  EXPECT_EQ(p, pattern_json("--attention fibottention-modified"));
}

TEST(FibPattern, gives_the_papers_desiderata_as_numbers) {
  const json d = pattern_json("--depth 3").at("desiderata");
  EXPECT_EQ(d.at("greatest_overlap"), 0.0) << "no integer stands in two rows of the Wythoff array";
  EXPECT_EQ(d.at("most_heads_of_a_pair"), 1);
  EXPECT_EQ(d.at("union_pairs"), 9192) << "no pair is computed twice";
  EXPECT_EQ(d.at("reach").size(), 3U);
  EXPECT_NEAR(d.at("reach").at(2), 0.895, 5e-4);
  EXPECT_LE(pattern_json("--modified").at("desiderata").at("most_heads_of_a_pair"), 3);
  EXPECT_EQ(pattern_json("--attention longformer").at("desiderata").at("mean_overlap"), 1.0);
  EXPECT_TRUE(pattern_json("--tokens 1025").at("desiderata").at("reach").is_null());
  EXPECT_TRUE(pattern_json("--tokens 4097").at("desiderata").at("mean_overlap").is_null());
}

TEST(FibPattern, gives_the_papers_baselines) {
  EXPECT_NEAR(pruned_percent("local:w=2"), 97.97, 0.0051);
  EXPECT_NEAR(pruned_percent("local:w=40,diagonal=true"), 62.94, 0.0051);
  EXPECT_NEAR(pruned_percent("longformer"), 98.47, 0.0051);
  EXPECT_NEAR(pruned_percent("bigbird"), 97.96, 0.0051);
  EXPECT_NEAR(pruned_percent("sparse-transformer"), 98.47, 0.0051);
  EXPECT_NEAR(pruned_percent("random"), 98.52, 0.0051);
}

TEST(FibPattern, names_heads_as_the_layer_uses_them) {
  const json p = pattern_json("--layer 0");
  const Integers rows = {2, 10, 9, 6, 11, 3, 4, 8, 5, 1, 12, 7};
  const json identity = pattern_json("");
  for (size_t h = 0; h < 12; ++h) {
    const json& row = identity.at("heads").at(static_cast<size_t>(rows[h] - 1));
    EXPECT_EQ(p.at("heads").at(h).at("head"), h + 1);
    EXPECT_EQ(p.at("heads").at(h).at("window"), row.at("window"));
    EXPECT_EQ(p.at("heads").at(h).at("offsets"), row.at("offsets"));
  }
  EXPECT_EQ(p.at("bound"), identity.at("bound"));
  EXPECT_EQ(run_fib("pattern --layer 0").out.rfind("fibottention, layer 0, 196 tokens", 0), 0u);
}

TEST(FibPattern, gives_no_bound_where_the_theorem_assumes_otherwise) {
  EXPECT_TRUE(pattern_json("--tokens 49 --heads 8").at("bound").is_null());  // rows that begin beyond their window
  EXPECT_TRUE(pattern_json("--tokens 60 --heads 1 --wmax 61").at("bound").is_null());  // wmax > N
  EXPECT_FALSE(pattern_json("--tokens 60 --heads 1 --wmax 60").at("bound").is_null());
  EXPECT_TRUE(pattern_json("--tokens 20 --heads 8 --modified").at("bound").is_null());
  EXPECT_TRUE(pattern_json("--attention fibottention:heads=same").at("bound").is_null());
  EXPECT_TRUE(pattern_json("--attention local").at("bound").is_null());
}

TEST(FibPattern, defines_tiny_and_odd_shapes) {
  for (const char* arguments : {"--tokens 1", "--tokens 2", "--tokens 3", "--heads 1", "--tokens 4 --heads 30",
                                "--tokens 10 --wmax 1000", "--tokens 1 --heads 1 --cls 0", "--causal", "--cls 3"}) {
    const json p = pattern_json(arguments);
    EXPECT_GE(p.at("pairs"), 0) << arguments;
  }
  EXPECT_EQ(pattern_json("--tokens 1 --heads 2 --cls 0").at("empty_rows"), 2);
  EXPECT_EQ(offsets_of(pattern_json("--heads 1 --wmax 65")), (std::vector<Integers>{{1, 2, 3, 5, 8, 13, 21, 34, 55}}));
}

TEST(FibPattern, serves_a_million_tokens) {
  const json p = pattern_json("--tokens 1048576 --heads 16");
  EXPECT_EQ(p.at("heads").size(), 16u);
  EXPECT_LT(p.at("memory_bytes"), 1 << 20);
}

TEST(FibPattern, prints_a_table_for_people) {
  const Outcome o = run_fib("pattern");
  EXPECT_EQ(o.code, 0);
  for (const char* part :
       {"head  window  offsets", "   1       5  1 2 3 5  1,546  4.02 %", "98.006 %", "97.014 %", "Theorem 1"}) {
    EXPECT_NE(o.out.find(part), std::string::npos) << part << " in\n" << o.out;
  }
}

TEST(FibPattern, prints_the_wythoff_array) {
  EXPECT_EQ(run_fib("pattern --array 3x4").out, "1:  1   2   3   5\n2:  4   7  11  18\n3:  6  10  16  26\n");
  EXPECT_EQ(run_fib("pattern --array 2x4 --modified").out, "1:  0  1  1  2\n2:  1  3  4  7\n");
  const json a = json::parse(run_fib("pattern --array 2x3 --json").out);
  EXPECT_EQ(a.at("array"), (json{{1, 2, 3}, {4, 7, 11}}));
  EXPECT_EQ(a.at("modified"), false);
}

TEST(FibPattern, prints_its_largest_array_without_overflow) {
  const json a = json::parse(run_fib("pattern --array 10000x60 --json").out).at("array");
  for (const auto& row : a) {
    for (size_t i = 1; i < row.size(); ++i) ASSERT_GT(row[i].get<int64_t>(), row[i - 1].get<int64_t>());
  }
}

TEST(FibPattern, refuses_arrays_it_cannot_print) {
  for (const char* size : {"0x4", "4x0", "4", "x4", "4x", "4x4x4", "-1x4", "10001x4", "4x61", "axb"}) {
    const Outcome o = run_fib(std::string("pattern --array ") + size);
    EXPECT_EQ(o.code, 2) << size;
    EXPECT_NE(o.err.find("ROWSxCOLS"), std::string::npos) << o.err;
  }
  EXPECT_EQ(run_fib("pattern --array 4x4 --wmin 5").code, 2);
}

TEST(FibPattern, writes_pictures) {
  const std::string svg = scratch_path("p.svg"), png = scratch_path("p.png");
  const Outcome o = run_fib("pattern --svg " + svg + " --png " + png);
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.out.find("wrote " + svg), std::string::npos);
  EXPECT_EQ(read_file(svg).rfind("<svg ", 0), 0u);
  EXPECT_EQ(read_file(png).substr(1, 3), "PNG");
}

TEST(FibPattern, matches_the_pairs_of_another_mechanism_and_prints_both_counts) {
  const json p = pattern_json("--heads 6 --attention bigbird --match-pairs fibottention");
  EXPECT_EQ(p.at("attention"), "bigbird:random=774");
  EXPECT_EQ(p.at("pairs"), 8160);
  EXPECT_EQ(p.at("pairs_wanted"), 8160);
  EXPECT_EQ(pattern_json("--heads 6 --attention longformer --match-pairs topk:k=7").at("pairs_wanted"), 6 * 196 * 7);
  const Outcome text = run_fib("pattern --heads 6 --attention local --match-pairs fibottention");
  EXPECT_NE(text.out.find("local:w=4 to 8,160 pairs"), std::string::npos) << text.out;
  const Outcome unknown = run_fib("pattern --match-pairs fibotention --attention local");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("did you mean 'fibottention'"), std::string::npos) << unknown.err;
}
