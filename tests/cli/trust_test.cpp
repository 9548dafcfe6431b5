// SPDX-License-Identifier: Apache-2.0
// What comes from outside: text that would act, values that mean nothing, files that cannot be written.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <random>
#include <vector>

#include "files.h"
#include "finished_run.h"
#include "run_fib.h"

namespace {

namespace fs = std::filesystem;
using fib::test::write_run;

void expect_line(const Outcome& o, int code, const std::string& part) {
  EXPECT_EQ(o.code, code) << o.err;
  EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
  EXPECT_NE(o.err.find(part), std::string::npos) << part << " in " << o.err;
  for (char c : o.err) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << o.err;
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

TEST(Trust, nothing_in_a_plot_is_a_command) {
  const std::string pwn = scratch_path("pwn"), plot = scratch_path("hostile.svg");
  std::filesystem::remove(pwn);
  for (const std::string& label :
       {"full:path=tiles\nsystem \"touch " + pwn + "\"\n#", "full:path='\nsystem(\"touch " + pwn + "\")\n",
        "$(touch " + pwn + ")", "`touch " + pwn + "`"}) {
    run_fib("flops --quiet --attention " + quoted(label) + " --plot " + plot);
  }
  run_fib("flops --quiet --plot " + plot + " 2>&1; true");
  EXPECT_EQ(run_fib("flops --quiet --plot " + plot).code, 0);
  EXPECT_FALSE(std::filesystem::exists(pwn));
}

/// Pieces that shells, interpreters, format strings, markup and terminals take for their own, in any order.
std::string random_name(std::mt19937& random) {
  const std::vector<std::string> pieces = {
      "'",           "\"",         "\n",   "`touch pwn`", "$(touch pwn)",
      ";touch pwn;", "|touch pwn", "%s%n", "\\",          "\nsystem \"touch pwn\"\n",
      "#",           "{",          "}",    "<script>",    "&amp;",
      "]]>",         "\x1b[31m",   "\xff", "ä",           "-",
      " ",           "@",          "a"};
  std::string name = "r";
  for (int i = 0; i < 6; ++i) name += pieces[random() % pieces.size()];
  return name;
}

TEST(Trust, no_name_of_a_run_acts_when_it_is_plotted) {
  const fib::test::TemporaryDirectory place;
  const fs::path before = fs::current_path(), plot = place / "plot.svg";
  fs::current_path(place.path());
  std::mt19937 random(13);
  for (int i = 0; i < 20; ++i) {
    const fs::path run = place / "runs" / random_name(random);
    write_run(run);
    const Outcome o = run_fib("runs " + quoted(run) + " --plot " + plot.string());
    EXPECT_EQ(o.code, 0) << run << o.err;
    for (const unsigned char c : o.out) EXPECT_TRUE(c == '\n' || c >= 0x20) << run;
    EXPECT_EQ(fib::test::read_file(plot).find("<script"), std::string::npos) << run;
    EXPECT_EQ(place.entries(), 2U) << "only runs and plot.svg after " << run;
    EXPECT_EQ(std::distance(fs::directory_iterator(run), {}), 2) << run;
  }
  fs::current_path(before);
}

TEST(Trust, runs_that_cannot_be_compared_are_shown_beside_each_other_without_a_verdict) {
  const fib::test::TemporaryDirectory place;
  const std::string one = place / "one", other = place / "other";
  write_run(one);
  write_run(other, {.data = "cifar10"});
  const Outcome o = run_fib("runs " + one + " " + other);
  EXPECT_EQ(o.code, 0) << o.err;
  for (const char* column : {"model", "data", "seed", "images", "test images", "finished (UTC)"})
    EXPECT_NE(o.out.find(column), std::string::npos) << column << " in " << o.out;
  EXPECT_NE(o.out.find("other is not compared with one: it has another dataset (cifar10, not mnist)"),
            std::string::npos)
      << o.out;
}

TEST(Trust, what_is_wrong_with_a_run_is_said_in_our_words) {
  const fib::test::TemporaryDirectory place;
  write_run(place / "run");
  fib::test::write_file(place / "run/metrics.jsonl", "{\"epoch\": null}\n");
  const Outcome metrics = run_fib("runs " + (place / "run").string());
  expect_line(metrics, 1, "metrics.jsonl': type must be number, but is null");
  fib::test::write_file(place / "run/metrics.jsonl", "{\"epoch\": 1, \"train_loss\": 1e308}\n");
  expect_line(run_fib("runs " + (place / "run").string()), 1, "metrics.jsonl': train_loss must be a number of a size");
  fib::test::write_file(place / "run/summary.json", "{\"model\": 1");
  const Outcome summary = run_fib("runs " + (place / "run").string());
  expect_line(summary, 1, "parse error");
  for (const Outcome& o : {metrics, summary}) EXPECT_EQ(o.err.find("json.exception"), std::string::npos) << o.err;
}

/// Parsers make of this what is destroyed by recursion: it would exhaust the stack.
TEST(Trust, what_nests_too_deeply_is_refused) {
  const fib::test::TemporaryDirectory place;
  write_run(place / "run");
  std::string objects = "{\"model\":", keys = "[a";
  for (int i = 0; i < 150000; ++i) objects += "{\"a\":", keys += ".a";
  fib::test::write_file(place / "run/summary.json", objects + "1" + std::string(150001, '}'));
  expect_line(run_fib("runs " + (place / "run").string()), 1, "nested more than 64 deep");
  fs::create_directories(place / "ablations");
  fib::test::write_file(place / "ablations/table-sota.toml", keys + "]\n");
  expect_line(run_fib("reproduce table-sota --plan --recipes " + place.path().string()), 2, "more than 4096 dots");
}

TEST(Trust, a_pipe_in_a_run_is_not_waited_for) {
  const fib::test::TemporaryDirectory place;
  write_run(place / "run");
  fs::remove(place / "run/metrics.jsonl");
  ASSERT_EQ(::mkfifo((place / "run/metrics.jsonl").c_str(), 0600), 0);
  EXPECT_EQ(run_fib("runs --quiet " + (place / "run").string()).code, 0);
  fs::rename(place / "run/metrics.jsonl", place / "run/summary.json");
  expect_line(run_fib("runs " + (place / "run").string()), 1, "holds no finished run");
}

TEST(Trust, control_characters_in_arguments_are_shown_not_obeyed) {
  expect_line(run_fib("pattern --attention \"$(printf 'fib\\033[31m\\007')\""), 2, "\\x1b[31m\\x07");
  expect_line(run_fib("\"$(printf 'pat\\033ern')\""), 2, "'pat\\x1bern'");
  expect_line(run_fib("pattern \"$(printf -- '--tok\\033ns')\" 5"), 2, "\\x1b");
  expect_line(run_fib("pattern --tokens \"$(printf '1\\0332')\""), 2, "'1\\x1b2'");
}

TEST(Trust, nonsense_is_refused) {
  const std::string model = "classify --model vit_tiny_patch16_224 --weights none.safetensors none.png ";
  expect_line(run_fib(model + "--std 0,0,0"), 2, "--std: must be a number from 1e-06");
  expect_line(run_fib(model + "--mean nan,0,0"), 2, "--mean: must be a number");
  expect_line(run_fib(model + "--std inf"), 2, "--std");
  expect_line(run_fib("bench attention --seconds nan"), 2, "--seconds: must be a number from 0.01 to 3600, got 'nan'");
  expect_line(run_fib("bench data --seconds 1e999"), 2, "--seconds");
  expect_line(run_fib("flops --attention full:path=anything"), 2, "path must be tiles or products, got 'anything'");
  expect_line(run_fib("pattern --png ''"), 2, "--png takes a name that ends in .png");
  expect_line(run_fib("pattern --svg x.png"), 2, "--svg takes a name that ends in .svg, got 'x.png'");
}

/// Cut to 32 bits they would be 1, and the run's own record would not say so.
TEST(Trust, counts_that_fit_nowhere_are_refused) {
  for (const char* option : {"--workers", "--prefetch", "--crop-padding", "--sampling-rate", "--resolution", "--epochs",
                             "--eval-batch", "--checkpoint-every"})
    expect_line(run_fib(std::string("train --out none ") + option + " 4294967297"), 2, "received 4294967297, accepted");
  expect_line(run_fib("train --out none --workers 40000"), 2,
              "workers: received 40000, accepted an integer from 0 to 1024");
}

TEST(Trust, what_cannot_be_written_is_known_at_once) {
  expect_line(run_fib("flops --plot /nonexistent/a.svg"), 1, "'/nonexistent/a.svg'");
  expect_line(run_fib("pattern --png /nonexistent/a.png"), 1, "'/nonexistent/a.png'");
}

TEST(Trust, the_parsers_words_are_ours) {
  expect_line(run_fib("pattern --wmax"), 2, "--wmax needs a value; see fib pattern --help");
  expect_line(run_fib("bench"), 2, "which of these? fib bench attention, data, decode, model");
  expect_line(run_fib("pattern 196"), 2, "unexpected argument '196'; see fib pattern --help");
}

TEST(Trust, help_shows_defaults_as_they_are_typed) {
  const Outcome help = run_fib("train --help");
  EXPECT_EQ(help.out.find("[0."), std::string::npos);
  EXPECT_NE(help.out.find("(default 0.08,1.0)"), std::string::npos);
  EXPECT_EQ(help.out.find("\"vit_"), std::string::npos);
}

}  // namespace
