// SPDX-License-Identifier: Apache-2.0
#include "cli/app.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "run_fib.h"

namespace {

/// Exit 2, nothing on stdout, one line on stderr that contains all of these.
void expect_usage_error(const std::string& arguments, const std::vector<std::string>& parts) {
  const Outcome o = run_fib(arguments);
  EXPECT_EQ(o.code, 2) << arguments;
  EXPECT_EQ(o.out, "") << arguments;
  EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
  EXPECT_EQ(o.err.rfind("fib: ", 0), 0u) << o.err;
  for (const std::string& part : parts) EXPECT_NE(o.err.find(part), std::string::npos) << part << " in " << o.err;
}

}  // namespace

TEST(Fib, alone_gives_an_overview) {
  const Outcome o = run_fib("");
  EXPECT_EQ(o.code, 0);
  EXPECT_NE(o.out.find("fib pattern"), std::string::npos);
  EXPECT_NE(o.out.find("fib attentions"), std::string::npos);
  EXPECT_LE(std::count(o.out.begin(), o.out.end(), '\n'), 45);
}

TEST(Fib, tells_version_commit_and_build_type) {
  const Outcome o = run_fib("--version");
  EXPECT_EQ(o.code, 0);
  int major = 0, minor = 0, patch = 0;
  char commit[41] = "", type[41] = "";
  const char* format = "fib %d.%d.%d (commit %40[0-9a-z], %40[A-Za-z])";
  EXPECT_EQ(std::sscanf(o.out.c_str(), format, &major, &minor, &patch, commit, type), 5) << o.out;
  EXPECT_EQ(o.out.back(), '\n');
}

TEST(Fib, helps_with_an_example_for_every_command) {
  for (const char* command : {"", "pattern", "attentions", "datasets"}) {
    const Outcome o = run_fib(std::string(command) + " --help");
    EXPECT_EQ(o.code, 0);
    EXPECT_NE(o.out.find("Example: fib "), std::string::npos) << command;
  }
}

TEST(Fib, takes_global_options_before_and_after_the_command) {
  EXPECT_EQ(run_fib("--threads 1 --quiet pattern").out, "");
  EXPECT_EQ(run_fib("pattern --quiet --threads 1").code, 0);
  EXPECT_EQ(run_fib("pattern --quiet --threads 1").out, "");
  EXPECT_NE(run_fib("pattern --quiet --json").out, "");
}

TEST(Fib, suggests_the_nearest_command_or_option) {
  expect_usage_error("patern", {"'patern'", "did you mean 'pattern'?"});
  expect_usage_error("pattern --tokns 5", {"'--tokns'", "did you mean '--tokens'?"});
  expect_usage_error("pattern --tokns=5", {"'--tokns'", "did you mean '--tokens'?"});
  expect_usage_error("--treads 2", {"did you mean '--threads'?"});
  expect_usage_error("pattern 196", {"unexpected argument '196'"});
}

TEST(Fib, refuses_impossible_numbers_of_threads) {
  for (const char* n : {"0", "-1", "2.5", "many", "99999999999999999999"}) {
    expect_usage_error(std::string("--threads ") + n + " pattern", {"--threads", std::string("got '") + n + "'"});
  }
}

/// Processor time of all children that have ended: unlike time on the wall, it does not grow when the machine is busy.
double child_milliseconds() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  const auto milliseconds = [](timeval t) {
    return 1e3 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_usec);
  };
  return milliseconds(used.ru_utime) + milliseconds(used.ru_stime);
}

TEST(Fib, starts_at_once) {
  double fastest = 1e9;
  for (int i = 0; i < 10; ++i) {
    const double before = child_milliseconds();
    run_fib("pattern --quiet");
    fastest = std::min(fastest, child_milliseconds() - before);
  }
  EXPECT_LT(fastest, 300.0);  // 8 ms in an optimised build, ten times that under sanitizers; loading torch costs 500
}

TEST(FibPattern, says_what_is_wrong_in_one_line) {
  expect_usage_error("pattern --tokens 0", {"--tokens", "got '0'"});
  expect_usage_error("pattern --tokens -196", {"--tokens", "got '-196'"});
  expect_usage_error("pattern --tokens 2147483648", {"2147483647"});
  expect_usage_error("pattern --heads 0", {"--heads", "got '0'"});
  expect_usage_error("pattern --heads x", {"--heads", "got 'x'"});
  expect_usage_error("pattern --cls -1", {"--cls", "got '-1'"});
  expect_usage_error("pattern --layer -1", {"--layer", "got '-1'"});
  expect_usage_error("pattern --wmin 70", {"wmin 70", "wmax 65"});
  expect_usage_error("pattern --wmin 0", {"wmin", "got '0'"});
  expect_usage_error("pattern --wmax -5", {"wmax", "got '-5'"});
  expect_usage_error("pattern --attention fibotention", {"did you mean 'fibottention'?", "longformer"});
  expect_usage_error("pattern --attention local:ww=3", {"did you mean 'w'?", "diagonal"});
  expect_usage_error("pattern --attention local:w", {"'w' is not key=value"});
  expect_usage_error("pattern --attention local --wmin 3", {"unknown option 'wmin'"});
  expect_usage_error("pattern --attention local --modified", {"--modified", "'local'"});
  expect_usage_error("pattern --tokens 3 --attention bigbird", {"random pairs", "remain"});
}

TEST(FibPattern, refuses_a_key_given_twice) {
  expect_usage_error("pattern --attention fibottention:wmin=5 --wmin 5", {"wmin is given twice"});
  expect_usage_error("pattern --attention fibottention:wmin=5,wmin=6", {"'wmin' twice"});
  expect_usage_error("pattern --wmax 60 --wmax 65", {"--wmax"});
  expect_usage_error("pattern --attention fibottention-modified --modified", {"--modified"});
}

TEST(FibPattern, fails_with_exit_1_when_a_picture_cannot_be_written) {
  const Outcome o = run_fib("pattern --quiet --svg /nonexistent/a.svg");
  EXPECT_EQ(o.code, 1);
  EXPECT_NE(o.err.find("'/nonexistent/a.svg'"), std::string::npos);
}

TEST(Fib, fails_when_its_output_is_closed) {
  const Outcome o = run_fib("attentions 2>&1 >/dev/full | cat");
  EXPECT_NE(o.out.find("fib: cannot write to standard output"), std::string::npos) << o.out;
}

TEST(Fib, tells_of_files_in_its_own_words) {
  const std::filesystem::filesystem_error error("cannot increment recursive directory iterator", "/a\x1b",
                                                std::make_error_code(std::errc::permission_denied));
  EXPECT_EQ(fib::cli::explain_failure(error), "cannot use '/a\\x1b': Permission denied");
}

TEST(FibAttentions, lists_names_options_and_defaults) {
  const Outcome text = run_fib("attentions"), json = run_fib("attentions --json");
  EXPECT_EQ(text.code, 0);
  const auto list = nlohmann::json::parse(json.out);
  EXPECT_GE(list.size(), 17u);
  for (const auto& row : list) {
    EXPECT_NE(text.out.find(row.at("name").get<std::string>()), std::string::npos);
    for (const auto& option : row.at("options")) EXPECT_FALSE(option.at("default").get<std::string>().empty());
  }
}
