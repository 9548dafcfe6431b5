// SPDX-License-Identifier: Apache-2.0
// Runs side by side, from the outside.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/finished_run.h"
#include "cli/run_fib.h"

namespace {

using fib::test::mentions;
using fib::test::write_run;

/// Two seeds of two mechanisms: local is one and three points better than full.
std::string write_runs(const std::filesystem::path& place) {
  write_run(place / "full-0", {.attention = "full", .seed = 0, .top1 = 0.50});
  write_run(place / "full-1", {.attention = "full", .seed = 1, .top1 = 0.51});
  write_run(place / "local-0", {.attention = "local", .seed = 0, .top1 = 0.51});
  write_run(place / "local-1", {.attention = "local", .seed = 1, .top1 = 0.54});
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
