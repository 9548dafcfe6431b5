// SPDX-License-Identifier: Apache-2.0
// What a compiled model takes is known from its steps, and files that take more than is granted are refused. Each
// program here was accepted once and ran for a quarter of a minute at least, or took gigabytes.
#include "engine/limits.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "engine/lower.h"
#include "fibottention/engine.h"
#include "files.h"
#include "graphs.h"

namespace fib::engine {
namespace {

/// Buffers 0 and 1 are input and output, 2 the arena, with `values` and written by a first step.
Program hostile(const Step& step, int64_t values) {
  Program p;
  p.sample = {1, 4, 4}, p.classes = 16, p.arena_elements = values;
  p.buffers = {{Buffer::Kind::input, 16, 0, "", TensorType::f32},
               {Buffer::Kind::output, 16, 0, "", TensorType::f32},
               {Buffer::Kind::arena, values, 0, "", TensorType::f32}};
  Step first, last;
  first.at(Role::x) = {0, 0, {16}, {1}}, first.at(Role::out) = {2, 0, {16}, {1}};
  last.at(Role::x) = {0, 0, {16}, {1}}, last.at(Role::out) = {1, 0, {16}, {1}};
  p.steps = {first, step, last};
  return p;
}

/// As loading a file with this program would end.
std::string loading_error(const Program& program, const Limits& limits = {}) {
  return test::error_of([&] {
    check_program(program);
    check_limits(requirements(program), limits);
  });
}

Step attention_step(const std::string& mechanism, int64_t side, int64_t heads) {
  const int64_t tokens = side * side;
  Step s;
  s.kind = StepKind::attention;
  Attention a{mechanism, {}, false};
  a.geometry.heads = heads, a.geometry.head_dim = a.geometry.value_dim = 1, a.geometry.cls = 0;
  a.geometry.query_grid = a.geometry.key_grid = {side, side};
  s.attributes = a;
  for (const Role role : {Role::q, Role::k, Role::v}) s.at(role) = {0, 0, {1, heads, tokens, 1}, {0, 0, 0, 0}};
  s.at(Role::out) = {2, 0, {1, heads, tokens, 1}, {heads * tokens, tokens, 1, 1}};
  return s;
}

TEST(Limits, refuse_dense_attention_over_four_million_tokens_that_are_one_value) {
  EXPECT_TRUE(
      test::mentions(loading_error(hostile(attention_step("full", 2048, 1), 1 << 22)), "T multiply-adds for a sample"));
  EXPECT_EQ(loading_error(hostile(attention_step("full", 64, 1), 1 << 22)), "");
}

TEST(Limits, refuse_a_copy_that_writes_one_value_four_billion_times) {
  Step s;
  s.at(Role::x) = {0, 0, {int64_t{1} << 32}, {0}}, s.at(Role::out) = {2, 0, {int64_t{1} << 32}, {0}};
  EXPECT_TRUE(test::mentions(loading_error(hostile(s, 16)), "out overlaps itself"));
}

TEST(Limits, refuse_a_product_whose_packed_matrix_takes_four_gibibytes) {
  constexpr int64_t kDepth = 1 << 26;
  Step s;
  s.kind = StepKind::matmul;
  s.at(Role::x) = {2, 0, {1, kDepth}, {kDepth, 1}}, s.at(Role::y) = {0, 0, {kDepth, 1}, {0, 0}};
  s.at(Role::out) = {2, 0, {1, 1}, {1, 1}};
  EXPECT_TRUE(test::mentions(loading_error(hostile(s, kDepth)), "GiB of memory"));
}

TEST(Limits, refuse_random_supports_by_the_pairs_that_they_would_draw) {
  EXPECT_TRUE(
      test::mentions(loading_error(hostile(attention_step("random:ratio=0", 107, 1), 1 << 20)), "GiB of memory"));
  EXPECT_TRUE(test::mentions(loading_error(hostile(attention_step("bigbird:random=130000000", 2000, 1), 1 << 22)),
                             "GiB of memory"));
  EXPECT_EQ(loading_error(hostile(attention_step("random", 14, 12), 1 << 20)), "");
}

TEST(Limits, count_the_search_for_the_largest_scores) {
  const auto work = [](const char* attention) {
    return requirements(hostile(attention_step(attention, 64, 1), 1 << 20)).work;
  };
  EXPECT_GT(work("topk:k=100"), 10 * work("full"));
}

TEST(Limits, refuse_an_arena_of_four_billion_values) {
  Step s;
  s.at(Role::x) = {0, 0, {16}, {1}}, s.at(Role::out) = {2, 0, {16}, {1}};
  EXPECT_TRUE(
      test::mentions(loading_error(hostile(s, int64_t{1} << 32)), "GiB of memory, granted are 4 (--max-memory)"));
}

TEST(Limits, refuse_an_input_of_800_million_values) {
  const TensorMetadata metadata{{"fib_format", fmt::format("{}", kFibFormat)},
                                {"fib_precision", "f32"},
                                {"fib_batch", "1"},
                                {"fib_programs", R"([{"input": [3, 16384, 16384]}])"}};
  const std::string error = test::error_of([&] { read_fib_metadata(metadata, {}, "x.fib"); });
  EXPECT_TRUE(test::mentions(error, "an input of 3 x 16384 x 16384 values, accepted are up to 268435456"));
}

TEST(Limits, hold_work_and_memory_of_a_program) {
  TensorStore tensors;
  const Program program = lower(test::mlp(32), Precision::f32, tensors);
  const Requirements needs = requirements(program);
  // 1024 tokens through 3 x 24, 24 x 40 and 40 x 24, and what is moved and looked up beside that.
  const int64_t products = 1024 * (3 * 24 + 24 * 40 + 40 * 24);
  EXPECT_GT(needs.work, products);
  EXPECT_LT(needs.work, 3 * products);
  EXPECT_GE(needs.memory, (program.arena_elements + 3 * 1024 + 5) * 4);
  EXPECT_LT(needs.memory, (program.arena_elements + 3 * 1024 + 5) * 4 + 1000);
  EXPECT_EQ(loading_error(program, {needs.memory, needs.work}), "");
  EXPECT_TRUE(test::mentions(loading_error(program, {needs.memory - 1, needs.work}), "--max-memory"));
  EXPECT_TRUE(test::mentions(loading_error(program, {needs.memory, needs.work - 1}), "--max-work"));
}

TEST(Limits, are_those_of_the_caller_in_c) {
  const test::TemporaryDirectory directory;
  TensorStore tensors;
  FibContent content;
  content.programs.push_back(lower(test::transformer("fibottention"), Precision::f32, tensors));
  write_fib(directory / "c.fib", content, tensors.views());
  const std::string file = directory / "c.fib";
  fib_engine* engine = nullptr;
  ASSERT_EQ(fib_engine_load(file.c_str(), &engine), FIB_OK);
  int64_t memory = 0, work = 0;
  EXPECT_EQ(fib_engine_requirements(engine, &memory, &work), FIB_OK);
  EXPECT_EQ(memory, requirements(content.programs).memory);
  fib_engine_free(engine);
  EXPECT_NE(fib_engine_load_within(file.c_str(), memory, work - 1, &engine), FIB_OK);
  EXPECT_TRUE(test::mentions(fib_last_error(), "--max-work") || test::mentions(fib_last_error(), "multiply-adds"));
  ASSERT_EQ(fib_engine_load_within(file.c_str(), memory, work, &engine), FIB_OK);
  fib_engine_free(engine);
}

TEST(Limits, a_compiled_model_opens_no_file_that_its_attention_names) {
  for (const char* attention : {"offsets:file=/etc/hostname", "offsets:/etc/hostname"})
    EXPECT_TRUE(test::mentions(loading_error(hostile(attention_step(attention, 4, 1), 1 << 10)), "names a file"));
}

}  // namespace
}  // namespace fib::engine
