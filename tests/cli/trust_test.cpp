// SPDX-License-Identifier: Apache-2.0
// What comes from outside: text that would act, values that mean nothing, files that cannot be written.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "run_fib.h"

namespace {

void expect_line(const Outcome& o, int code, const std::string& part) {
  EXPECT_EQ(o.code, code) << o.err;
  EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
  EXPECT_NE(o.err.find(part), std::string::npos) << part << " in " << o.err;
  for (char c : o.err) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << o.err;
}

TEST(Trust, nothing_in_a_plot_is_a_command) {
  const std::string pwn = scratch_path("pwn"), plot = scratch_path("hostile.svg");
  std::filesystem::remove(pwn);
  for (const std::string& label :
       {"full:path=tiles\nsystem \"touch " + pwn + "\"\n#", "full:path='\nsystem(\"touch " + pwn + "\")\n",
        "$(touch " + pwn + ")", "`touch " + pwn + "`"}) {
    std::string quoted = "'";
    for (char c : label) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    run_fib("flops --quiet --attention " + quoted + "' --plot " + plot);
  }
  run_fib("flops --quiet --plot " + plot + " 2>&1; true");
  EXPECT_EQ(run_fib("flops --quiet --plot " + plot).code, 0);
  EXPECT_FALSE(std::filesystem::exists(pwn));
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
  expect_line(run_fib("pattern --png ''"), 2, "--png takes a name that ends in .png");
  expect_line(run_fib("pattern --svg x.png"), 2, "--svg takes a name that ends in .svg, got 'x.png'");
}

TEST(Trust, what_cannot_be_written_is_known_at_once) {
  expect_line(run_fib("flops --plot /nonexistent/a.svg"), 1, "'/nonexistent/a.svg'");
  expect_line(run_fib("pattern --png /nonexistent/a.png"), 1, "'/nonexistent/a.png'");
}

TEST(Trust, the_parsers_words_are_ours) {
  expect_line(run_fib("pattern --wmax"), 2, "--wmax needs a value; see fib pattern --help");
  expect_line(run_fib("bench"), 2, "which of these? fib bench attention, data, model");
  expect_line(run_fib("pattern 196"), 2, "unexpected argument '196'; see fib pattern --help");
}

TEST(Trust, help_shows_defaults_as_they_are_typed) {
  const Outcome help = run_fib("train --help");
  EXPECT_EQ(help.out.find("[0."), std::string::npos);
  EXPECT_NE(help.out.find("--crop-scale 0.08,1.0"), std::string::npos);
  EXPECT_EQ(help.out.find("\"vit_"), std::string::npos);
}

}  // namespace
