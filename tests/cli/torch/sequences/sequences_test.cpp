// SPDX-License-Identifier: Apache-2.0
// fib train, generate, forecast and bench decode from the outside: decoders of texts and time series.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/run_fib.h"
#include "files.h"

namespace {

using fib::test::mentions;
using fib::test::TemporaryDirectory;
using fib::test::write_file;

class SequenceCommands : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = new TemporaryDirectory;
    std::string text, table = "date,x,y\n";
    for (int i = 0; i < 400; ++i) text += "to be or not to be\n";
    for (int i = 0; i < 200; ++i)
      table += fib_date(i) + "," + std::to_string(std::sin(0.3 * i)) + "," + std::to_string(i % 5) + "\n";
    write_file(*directory_ / "t.txt", text);
    write_file(*directory_ / "s.csv", table);
    const std::string small = "train --quiet --model mini_decoder --batch 8 --epochs 1 --ema 0 --warmup-epochs 0 ";
    const Outcome texts =
        run_fib(small + "--task text --data 'text:" + path("t.txt") +
                "?symbols=characters&epoch_steps=20' --attention fibottention:local=2 --out " + path("text"));
    ASSERT_EQ(texts.code, 0) << texts.err;
    const Outcome series = run_fib(small + "--task series --data 'series:" + path("s.csv") +
                                   "?look_back=24&horizon=6&patch=4&stride=4' --out " + path("series"));
    ASSERT_EQ(series.code, 0) << series.err;
  }
  static void TearDownTestSuite() { delete directory_; }

  static std::string path(const std::string& name) { return *directory_ / name; }
  static std::string fib_date(int day) {
    const std::string two = std::to_string(day % 28 + 1);
    return std::to_string(2000 + day / 336) + (day / 28 % 12 < 9 ? "-0" : "-") + std::to_string(day / 28 % 12 + 1) +
           (two.size() < 2 ? "-0" : "-") + two;
  }
  /// One line, from fib, with this code.
  static void expect_refused(const std::string& arguments, int code, const std::string& part) {
    const Outcome outcome = run_fib(arguments);
    EXPECT_EQ(outcome.code, code) << arguments;
    EXPECT_TRUE(mentions(outcome.err, part)) << arguments;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }

  static TemporaryDirectory* directory_;
};

TemporaryDirectory* SequenceCommands::directory_ = nullptr;

TEST_F(SequenceCommands, generate_writes_the_same_with_the_same_seed) {
  const std::string command = "generate --quiet --run " + path("text") + " --prompt 'to be' --tokens 40 --seed ";
  const Outcome first = run_fib(command + "3");
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.out.size(), 41U) << "40 characters and a new line";
  EXPECT_EQ(run_fib(command + "3").out, first.out);
  const auto json = nlohmann::json::parse(run_fib(command + "3 --json").out);
  EXPECT_EQ(json.at("text").get<std::string>() + "\n", first.out);
  EXPECT_EQ(json.at("tokens"), 40);
  const Outcome piped =
      run_fib("generate --quiet --run " + path("text") + " --prompt - --tokens 40 --seed 3 < " + path("prompt.txt"));
  EXPECT_NE(piped.code, 0) << "there is no such file";
  write_file(path("prompt.txt"), "to be");
  EXPECT_EQ(
      run_fib("generate --quiet --run " + path("text") + " --prompt - --tokens 40 --seed 3 < " + path("prompt.txt"))
          .out,
      first.out);
}

TEST_F(SequenceCommands, generate_refuses_a_bad_prompt_or_run) {
  const std::string command = "generate --run " + path("text");
  expect_refused(command + " --prompt ''", 2, "--prompt: received no text");
  expect_refused(command + " --prompt 'to Be'", 2, "--prompt: the character 'B' at byte 3 is none of the");
  expect_refused(command + " --prompt \"$(printf 't\\377')\"", 2, "which is no UTF-8");
  expect_refused(command + " --temperature -1", 2, "--temperature");
  expect_refused("generate --run " + path("series"), 2, "learned series; accepted: a run of the task text");
  expect_refused("generate --run " + path("nowhere"), 1, "nowhere");
}

/// A run of somebody else's: what it claims to be is compared with its weights before memory is taken, and weights that
/// give no numbers give no text and no forecast.
TEST_F(SequenceCommands, hostile_runs_are_refused_in_one_line) {
  const auto copy_of = [](const std::string& run, const std::string& from, const std::string& to) {
    std::filesystem::remove_all(path("hostile"));
    std::filesystem::copy(path(run), path("hostile"));
    std::string config = fib::test::read_file(path("hostile/config.toml"));
    config.replace(config.find(from), from.size(), to);
    write_file(path("hostile/config.toml"), config);
  };
  const std::string generate = "generate --run " + path("hostile") + " --prompt to";
  const std::string forecast = "forecast --run " + path("hostile") + " --input " + path("s.csv");
  copy_of("text", "mini_decoder", "gpt2_xl");
  expect_refused(generate, 1, "the weights do not fit gpt2_xl: it has 1477");
  copy_of("text", "symbols=characters", "context=16777216&symbols=characters");
  expect_refused(generate, 1, "the weights do not fit mini_decoder: it has 2684");
  copy_of("series", "horizon=6", "horizon=2147483647");
  expect_refused(forecast, 1, "the weights do not fit mini_decoder: it has 365");
  for (const std::string run : {"text", "series"}) {
    copy_of(run, "mini_decoder", "mini_decoder");
    for (const auto& entry : std::filesystem::directory_iterator(path("hostile"))) {
      if (entry.path().extension() != ".safetensors") continue;
      std::string file = fib::test::read_file(entry.path());
      std::fill(file.end() - 4096, file.end(), '\xff');
      write_file(entry.path(), file);
    }
    run == "text" ? expect_refused(generate, 1, "logits are no numbers")
                  : expect_refused(forecast, 1, "forecasts what is no number");
  }
}

TEST_F(SequenceCommands, a_compiled_decoder_writes_what_its_run_writes) {
  const std::string file = path("text.fib"), options = " --quiet --prompt 'to be' --tokens 60 --seed 3";
  const Outcome compiled = run_fib("compile --run " + path("text") + " -o " + file);
  ASSERT_EQ(compiled.code, 0) << compiled.err;
  EXPECT_TRUE(mentions(compiled.out, "mini_decoder with fibottention:local=2, f32")) << compiled.out;
  const Outcome written = run_fib("generate --engine " + file + options);
  ASSERT_EQ(written.code, 0) << written.err;
  EXPECT_EQ(written.out, run_fib("generate --run " + path("text") + options).out);
  const auto json = nlohmann::json::parse(run_fib("generate --engine " + file + options + " --json").out);
  EXPECT_EQ(json.at("attention"), "fibottention:local=2");
  EXPECT_EQ(json.at("text").get<std::string>() + "\n", written.out);
  ASSERT_EQ(run_fib("compile --quiet --precision int8 --run " + path("text") + " -o " + path("int8.fib")).code, 0);
  EXPECT_EQ(run_fib("generate --engine " + path("int8.fib") + options).out.size(), 61U);
}

TEST_F(SequenceCommands, compiled_decoders_are_refused_where_they_do_not_belong) {
  const std::string file = path("refused.fib");
  ASSERT_EQ(run_fib("compile --quiet --run " + path("text") + " -o " + file).code, 0);
  expect_refused("generate --prompt x", 2, "which decoder? Give --run DIR or --engine F.fib");
  expect_refused("generate --engine " + file + " --run " + path("text"), 2, "--run");
  expect_refused("generate --engine " + file + " --prompt Q", 2, "is none of the");
  expect_refused("generate --engine " + path("nowhere.fib"), 1, "nowhere.fib");
  expect_refused("generate --engine " + file + " --max-memory 0", 2, "--max-memory");
  expect_refused("eval --engine " + file + " --data cifar10", 2, "takes tokens, not images");
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  expect_refused("generate --engine " + file, 1, "refused.fib");
  expect_refused("compile --run " + path("series") + " -o " + file, 2,
                 "learned series, whose decoders have no compiled form");
  expect_refused("compile --run " + path("text") + " --resolution 64 -o " + file, 2, "--resolution says nothing");
}

TEST_F(SequenceCommands, forecast_tells_and_draws_every_column) {
  const std::string command = "forecast --run " + path("series") + " --input " + path("s.csv");
  const Outcome outcome = run_fib(command + " --held-out --json --plot " + path("f.svg"));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("forecast").at("x").size(), 6U);
  EXPECT_EQ(json.at("forecast").at("y").size(), 6U);
  EXPECT_EQ(json.at("first_row"), 194);
  EXPECT_TRUE(json.at("mse").is_number());
  EXPECT_TRUE(mentions(fib::test::read_file(path("f.svg")), "forecast"));
  const auto ahead = nlohmann::json::parse(run_fib(command + " --json").out);
  EXPECT_EQ(ahead.at("first_row"), 200);
  EXPECT_FALSE(ahead.contains("mse"));
}

TEST_F(SequenceCommands, forecast_refuses_a_bad_table) {
  const auto refused = [](const std::string& table, int code, const std::string& part) {
    write_file(path("bad.csv"), table);
    expect_refused("forecast --run " + path("series") + " --input " + path("bad.csv"), code, part);
  };
  refused("", 1, "is empty");
  refused("date;x;y\n2000-01-01;1;2\n", 1, "columns are divided by commas, got ';'");
  refused("date,x,y\n2000-01-01,1,\n", 1, "line 2: column 'y' is empty");
  refused("date,x,y\n2000-01-01,one,2\n", 1, "line 2: column 'x': 'one' is no number");
  refused("date,x,y\n2000-01-02,1,2\n2000-01-01,1,2\n", 1, "line 3: the date '2000-01-01' is not after");
  refused("date,x,z\n2000-01-01,1,2\n", 2, "the columns are x, z, the run learned x, y");
  refused("date,x,y\n2000-01-01,1,2\n", 2, "1 rows come before the forecast, the run looks back at 24");
}

TEST_F(SequenceCommands, train_refuses_a_bad_text_or_mechanism_and_leaves_nothing) {
  write_file(path("empty.txt"), "");
  write_file(path("short.txt"), "short");
  const std::string train = "train --quiet --model mini_decoder --task text --out " + path("none") + " ";
  expect_refused(train + "--data text:" + path("empty.txt"), 1, "is empty");
  expect_refused(train + "--data text:" + path("short.txt"), 2, "at least 17 are needed, a context of 16 and one more");
  expect_refused(train + "--data text:" + path("t.txt") + " --attention linformer", 2, "cannot be causal");
  expect_refused(train + "--data cifar10", 2, "the task text takes text:FILE");
  expect_refused(train + "--data text:" + path("t.txt") + " --model gpt5", 2, "--model is given more than once");
  expect_refused("train --quiet --model gpt5 --task text --out " + path("none") + " --data text:" + path("t.txt"), 2,
                 "unknown decoder 'gpt5'");
  EXPECT_FALSE(std::filesystem::exists(path("none")));
}

TEST_F(SequenceCommands, report_shows_what_decoders_write_and_forecast) {
  const auto page_of = [](const std::string& run) {
    const Outcome outcome = run_fib("report " + path(run) + " -o " + path(run + ".html"));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return fib::test::read_file(path(run + ".html"));
  };
  const std::string text = page_of("text"), series = page_of("series");
  for (const char* part : {"What they write", "<pre>", "bits_per_byte", "Learning curves"})
    EXPECT_TRUE(mentions(text, part)) << part;
  for (const char* part : {"What they write", "<svg", "mae", "forecast of series"})
    EXPECT_TRUE(mentions(series, part)) << part;
}

TEST_F(SequenceCommands, bench_decode_has_a_row_for_each_attention_and_context) {
  const Outcome outcome = run_fib(
      "bench decode --model mini_decoder --attention fibottention:local=2 --attention full --context 64,128 --seconds "
      "0.05 --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto rows = nlohmann::json::parse(outcome.out).at("rows");
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].at("attention"), "fibottention:local=2");
  EXPECT_EQ(rows[3].at("context"), 128);
  EXPECT_EQ(rows[3].at("keys"), 2 * 2 * 128) << "two layers of two heads";
  for (const auto& row : rows) EXPECT_GT(row.at("ms_per_token").get<double>(), 0);
}

}  // namespace
