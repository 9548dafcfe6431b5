// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/run_fib.h"

namespace {

const std::string kQuick = "bench attention --tokens 30,50 --heads 2 --dim 8 --seconds 0.01 ";

void expect_usage_error(const std::string& arguments, const std::string& part) {
  const Outcome o = run_fib(arguments);
  EXPECT_EQ(o.code, 2) << arguments << o.err;
  EXPECT_EQ(o.out, "");
  EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
  EXPECT_NE(o.err.find(part), std::string::npos) << o.err;
}

TEST(FibBenchAttention, gives_json_as_agreed) {
  const Outcome o = run_fib(kQuick + "--backward --threads 1 --json");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.err, "");
  const auto report = nlohmann::json::parse(o.out);
  EXPECT_EQ(report["threads"], 1);
  EXPECT_TRUE(report["machine"].is_string());
  ASSERT_EQ(report["rows"].size(), 22U);
  const auto& first = report["rows"][0];
  EXPECT_EQ(first["contestant"], "fibottention");
  EXPECT_EQ(first["pass"], "forward");
  EXPECT_EQ(first["batch"], 1);
  EXPECT_EQ(first["tokens"], 30);
  EXPECT_EQ(first["heads"], 2);
  EXPECT_EQ(first["dim"], 8);
  for (const char* figure : {"ms", "ms_median", "speedup_over_dense", "over_memcpy", "max_error"}) {
    EXPECT_TRUE(first[figure].is_number()) << figure;
  }
  EXPECT_EQ(report["rows"][1]["pass"], "forward+backward");
  EXPECT_EQ(report["rows"][10]["contestant"], "memcpy");
  EXPECT_TRUE(report["rows"][10]["max_error"].is_null());
}

TEST(FibBenchAttention, takes_global_options_before_its_name) {
  const Outcome o = run_fib("--threads 2 " + kQuick + "--json");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(nlohmann::json::parse(o.out)["threads"], 2);
}

TEST(FibBenchAttention, gives_a_table_and_a_plot) {
  const std::string plot = scratch_path("bench.svg");
  const Outcome o = run_fib(kQuick + "--plot " + plot);
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.out.find("dense-masked"), std::string::npos);
  EXPECT_NE(o.out.find("torch operator adds"), std::string::npos);
  EXPECT_NE(read_file(plot).find("<svg"), std::string::npos);
}

TEST(FibBenchAttention, refuses_what_it_cannot_do_in_one_line) {
  expect_usage_error("bench", "attention, data, decode, model");
  expect_usage_error("bench attention --tokens 0", "got '0'");
  expect_usage_error("bench attention --tokens 12,x", "got 'x'");
  expect_usage_error("bench attention --dim 513", "from 1 to 512, got '513'");
  expect_usage_error("bench attention --attention fibonacci", "fibottention");
  expect_usage_error("bench attention --wmin 9 --wmax 3", "wmin 9 and wmax 3");
  expect_usage_error(kQuick + "--plot bench.gif", "bench.gif");
  expect_usage_error("bench attention --tokes 5", "--tokens");
}

TEST(FibBenchAttention, helps_with_an_example) {
  const Outcome o = run_fib("bench attention --help");
  EXPECT_EQ(o.code, 0);
  EXPECT_NE(o.out.find("Example: fib bench attention"), std::string::npos);
}

}  // namespace
