// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "base/npy.h"
#include "cli/run_fib.h"
#include "oracle/attention_oracle.h"

namespace {

using namespace fib;
using Shape = std::vector<int64_t>;

int64_t count(const Shape& shape) {
  int64_t n = 1;
  for (const int64_t side : shape) n *= side;
  return n;
}

/// Random doubles under this name, as an array of T.
template <class T>
std::vector<double> save_random(const std::string& name, const Shape& shape, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  std::vector<T> values(static_cast<size_t>(count(shape)));
  for (T& value : values) value = static_cast<T>(normal(generator));
  write_npy<T>(scratch_path(name), shape, std::span<const T>(values));
  return {values.begin(), values.end()};
}

template <class T>
std::vector<double> load(const std::string& name) {
  const NpyArray array(scratch_path(name));
  const auto values = array.values<T>();
  return {values.begin(), values.end()};
}

std::string file(const std::string& option, const std::string& name) {
  return " --" + option + " " + scratch_path(name);
}

std::string inputs() { return "attend" + file("q", "q.npy") + file("k", "k.npy") + file("v", "v.npy"); }

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

/// B 2, H 3, T 21 with one class token, d 5 and e 4, with the options that `fib attend` is to get.
struct Case {
  std::string options;
  AttentionSpec spec;
  PatternGeometry geometry{.patches = 20, .cls = 1, .heads = 3, .layer = {}, .causal = false};
  Masking masking = Masking::exclude;
  std::optional<double> scale = {};
};

template <class T>
void expect_oracle_results(const Case& c, double tolerance) {
  SCOPED_TRACE(c.options);
  const SupportSet support = make_support(c.spec, c.geometry);
  test::OracleProblem problem{.support = &support, .shape = {2, 3, 21, 21, 5, 4}};
  problem.q = save_random<T>("q.npy", {2, 3, 21, 5}, 1);
  problem.k = save_random<T>("k.npy", {2, 3, 21, 5}, 2);
  problem.v = save_random<T>("v.npy", {2, 3, 21, 4}, 3);
  problem.masking = c.masking;
  problem.scale = c.scale;
  const std::vector<double> grad_out = save_random<T>("g.npy", {2, 3, 21, 4}, 4);
  const Outcome o = run_fib(inputs() + file("out", "o.npy") + file("grad-out", "g.npy") + file("dq", "dq.npy") +
                            file("dk", "dk.npy") + file("dv", "dv.npy") + " " + c.options);
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.err, "");
  const test::OracleGradients expected = test::oracle_backward(problem, grad_out);
  EXPECT_LE(largest_difference(load<T>("o.npy"), test::oracle_forward(problem).out), tolerance);
  EXPECT_LE(largest_difference(load<T>("dq.npy"), expected.dq), tolerance);
  EXPECT_LE(largest_difference(load<T>("dk.npy"), expected.dk), tolerance);
  EXPECT_LE(largest_difference(load<T>("dv.npy"), expected.dv), tolerance);
}

std::vector<Case> cases() {
  std::vector<Case> all{{"--wmin 2 --wmax 7", {"fibottention", {{"wmin", "2"}, {"wmax", "7"}}}},
                        {"--modified --scale 0.5", {"fibottention-modified", {}}},
                        {"--attention bigbird:seed=3", {"bigbird", {{"seed", "3"}}}},
                        {"--cls 0 --causal", {"fibottention", {}}},
                        {"--layer 2", {"fibottention", {}}},
                        {"--masking zero", {"fibottention", {}}},
                        {"--attention fibottention:masking=zero", {"fibottention", {}}}};
  all[1].scale = 0.5;
  all[3].geometry = {.patches = 21, .cls = 0, .heads = 3, .layer = {}, .causal = true};
  all[4].geometry.layer = 2;
  all[5].masking = all[6].masking = Masking::zero;
  return all;
}

TEST(FibAttend, agrees_with_the_dense_oracle_forward_and_backward) {
  for (const Case& c : cases()) {
    expect_oracle_results<double>(c, 1e-12);
    expect_oracle_results<float>(c, 1e-5);
  }
}

TEST(FibAttend, computes_by_hand) {
  // Three tokens, neighbours only: the ends see the middle alone, the middle weighs the ends by e^(q·k).
  const auto save = [](const std::string& name, const std::vector<double>& values) {
    write_npy<double>(scratch_path(name), Shape{1, 1, 3, 1}, values);
  };
  save("q.npy", {0.5, 2.0, -1.0});
  save("k.npy", {0.25, 3.0, 1.0});
  save("v.npy", {10.0, 20.0, 40.0});
  const Outcome o = run_fib(inputs() + file("out", "o.npy") + " --cls 0 --wmin 1 --wmax 1");
  ASSERT_EQ(o.code, 0) << o.err;
  const double left = std::exp(2.0 * 0.25), right = std::exp(2.0 * 1.0);
  const std::vector<double> expected{20.0, (10.0 * left + 40.0 * right) / (left + right), 20.0};
  EXPECT_LE(largest_difference(load<double>("o.npy"), expected), 1e-12);
  EXPECT_EQ(o.out, "wrote " + scratch_path("o.npy") + " (1, 1, 3, 1) float64\n");
}

TEST(FibAttend, writes_the_same_bits_for_any_number_of_threads) {
  save_random<float>("q.npy", {1, 3, 300, 8}, 1);
  save_random<float>("k.npy", {1, 3, 300, 8}, 2);
  save_random<float>("v.npy", {1, 3, 300, 8}, 3);
  std::string first;
  for (const char* threads : {"1", "2", "7"}) {
    const Outcome o = run_fib(inputs() + file("out", "o.npy") + " --quiet --threads " + threads);
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_EQ(o.out, "");
    if (first.empty()) first = read_file(scratch_path("o.npy"));
    EXPECT_EQ(read_file(scratch_path("o.npy")), first);
  }
}

/// Refused: the code, one line on stderr that holds `part`, and no file beyond those that were there.
void expect_refused_file(const std::string& arguments, int code, const std::string& part) {
  SCOPED_TRACE(arguments);
  const auto entries = [] {
    const std::filesystem::path directory = std::filesystem::path(scratch_path("x")).parent_path();
    return std::distance(std::filesystem::directory_iterator(directory), {});
  };
  std::filesystem::remove(scratch_path("o.npy"));
  run_fib("--version");  // so that the captured outputs are among the entries
  const auto before = entries();
  const Outcome o = run_fib(arguments);
  EXPECT_EQ(o.code, code);
  EXPECT_EQ(o.out, "");
  EXPECT_NE(o.err.find(part), std::string::npos) << o.err;
  EXPECT_EQ(o.err.find('\n'), o.err.size() - 1) << o.err;
  EXPECT_EQ(entries(), before);
}

class FibAttendRefuses : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"q.npy", "k.npy", "v.npy", "g.npy"}) save_random<float>(name, {2, 3, 10, 4}, 1);
  }
  const std::string with_out_ = inputs() + file("out", "o.npy");
};

TEST_F(FibAttendRefuses, mismatched_shapes_and_types) {
  save_random<float>("k.npy", {2, 3, 9, 4}, 1);
  expect_refused_file(with_out_, 1, "k.npy' has shape (2, 3, 9, 4), accepted is (2, 3, 10, 4) as '");
  save_random<double>("k.npy", {2, 3, 10, 4}, 1);
  expect_refused_file(with_out_, 1, "k.npy' holds float64");
  save_random<float>("k.npy", {2, 3, 10, 4}, 1);
  save_random<float>("v.npy", {2, 2, 10, 4}, 1);
  expect_refused_file(with_out_, 1, "v.npy' has shape (2, 2, 10, 4), accepted is (2, 3, 10, 4)");
  save_random<float>("v.npy", {2, 3, 10, 4}, 1);
  save_random<float>("g.npy", {2, 3, 10, 5}, 1);
  expect_refused_file(with_out_ + file("grad-out", "g.npy") + file("dq", "dq.npy"), 1,
                      "g.npy' has shape (2, 3, 10, 5)");
  save_random<float>("q.npy", {3, 10, 4}, 1);
  expect_refused_file(with_out_, 1, "q.npy' has shape (3, 10, 4), accepted is [B,H,T,d]");
  save_random<float>("q.npy", {2, 0, 10, 4}, 1);
  expect_refused_file(with_out_, 1, "nothing zero");
}

TEST_F(FibAttendRefuses, files_that_are_no_arrays) {
  const std::string whole = read_file(scratch_path("v.npy"));
  const auto overwrite = [](const std::string& content) {
    std::ofstream(scratch_path("v.npy"), std::ios::binary) << content;
  };
  overwrite(whole.substr(0, whole.size() - 1));
  expect_refused_file(with_out_, 1, "v.npy': truncated");
  overwrite(whole + "x");
  expect_refused_file(with_out_, 1, "v.npy': too long");
  overwrite("not an array");
  expect_refused_file(with_out_, 1, "not a .npy file");
  std::string integers = whole;
  integers.replace(integers.find("<f4"), 3, "<i4");
  overwrite(integers);
  expect_refused_file(with_out_, 1, "dtype '<i4'");
  std::string fortran = whole;
  fortran.replace(fortran.find("False"), 5, "True ");
  overwrite(fortran);
  expect_refused_file(with_out_, 1, "Fortran order");
  std::filesystem::remove(scratch_path("v.npy"));
  expect_refused_file(with_out_, 1, "No such file");
}

TEST_F(FibAttendRefuses, options_that_make_no_sense) {
  expect_refused_file(inputs(), 2, "--out is required");
  expect_refused_file(with_out_ + file("dq", "dq.npy"), 2, "gradients need --grad-out");
  expect_refused_file(with_out_ + file("grad-out", "g.npy"), 2, "at least one of --dq, --dk and --dv");
  expect_refused_file(with_out_ + file("grad-out", "g.npy") + file("dq", "o.npy"), 2, "two results are to be");
  expect_refused_file(with_out_ + " --masking none", 2, "masking must be exclude or zero, got 'none'");
  expect_refused_file(with_out_ + " --masking zero --causal", 2,
                      "masking zero is refused together with a causal support");
  expect_refused_file(with_out_ + " --masking zero --attention fibottention:masking=zero", 2, "masking is given twice");
  expect_refused_file(with_out_ + " --scale nan", 2,
                      "--scale: must be a number from -1000000000 to 1000000000, got 'nan'");
  expect_refused_file(with_out_ + " --attention fibotention", 2, "fibottention");
  expect_refused_file(with_out_ + " --wmax 3 --attention fibottention:wmax=3", 2, "given twice");
  expect_refused_file(with_out_ + " --cls 10", 1, "10 tokens, --cls 10 leaves no patches");
}

TEST_F(FibAttendRefuses, results_that_cannot_be_written_before_any_appears) {
  expect_refused_file(inputs() + file("out", "none/o.npy"), 1, "none/o.npy': No such file or directory");
  expect_refused_file(with_out_ + file("grad-out", "g.npy") + file("dv", "none/dv.npy"), 1, "none/dv.npy'");
}

}  // namespace
