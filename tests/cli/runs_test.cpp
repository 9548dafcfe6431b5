// SPDX-License-Identifier: Apache-2.0
// Runs side by side, from the outside.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "files.h"
#include "run_fib.h"

namespace {

using fib::test::mentions;

void write_run(const std::filesystem::path& folder, const std::string& attention, int seed, double top1) {
  std::filesystem::create_directories(folder);
  fib::test::write_file(
      folder / "summary.json",
      fmt::format(R"({{"model":"vit","attention":"{}","data":"mnist","seed":{},"parameters":9,"train_images":650,
                       "epochs":1,"steps":2,"batch":32,"processes":1,"threads":1,"train_seconds":3,"peak_memory_mb":4,
                       "test":{{"images":100,"top1":{},"weights":"ema","epoch":1}}}})",
                  attention, seed, top1));
}

/// Two seeds of two mechanisms: local is one and three points better than full.
std::string write_runs(const std::filesystem::path& place) {
  write_run(place / "full-0", "full", 0, 0.50);
  write_run(place / "full-1", "full", 1, 0.51);
  write_run(place / "local-0", "local", 0, 0.51);
  write_run(place / "local-1", "local", 1, 0.54);
  std::string all;
  for (const char* run : {"full-0", "full-1", "local-0", "local-1"}) all += " " + (place / run).string();
  return all;
}

TEST(Runs, are_compared_with_the_first_or_with_those_of_a_mechanism) {
  const fib::test::TemporaryDirectory place;
  const std::string runs = write_runs(place.path());
  const Outcome first = run_fib("runs" + runs);
  EXPECT_TRUE(mentions(first.out, "against full")) << first.out << first.err;
  EXPECT_TRUE(mentions(first.out, "+2.00, p 0.295")) << first.out;
  const Outcome local = run_fib("runs --against local" + runs);
  EXPECT_TRUE(mentions(local.out, "against local")) << local.out << local.err;
  EXPECT_TRUE(mentions(local.out, "-2.00, p 0.295")) << local.out;
}

TEST(Runs, that_were_kept_as_rows_are_compared_like_any) {
  const fib::test::TemporaryDirectory place;
  const std::string kept = (place / "kept.json").string();
  fib::test::write_file(kept, run_fib("runs --json" + write_runs(place.path())).out);
  EXPECT_TRUE(mentions(run_fib("runs --against local " + kept).out, "-2.00, p 0.295"));
}

TEST(Runs, that_are_not_there_are_named_in_one_line) {
  const fib::test::TemporaryDirectory place;
  const std::string runs = write_runs(place.path());
  const Outcome typo = run_fib("runs --against locale" + runs), nothing = run_fib("runs " + (place / "gone").string());
  EXPECT_EQ(typo.code, 2);
  EXPECT_TRUE(mentions(typo.err, "unknown attention of these runs 'locale', did you mean 'local'? Known: full, local"))
      << typo.err;
  EXPECT_EQ(nothing.code, 1);
  EXPECT_TRUE(mentions(nothing.err, "neither a run nor a file of rows at")) << nothing.err;
}

}  // namespace
