// SPDX-License-Identifier: Apache-2.0
// The checker of programs: what it accepts stays inside its buffers, whatever the sizes.
#include "engine/program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "engine/engine.h"
#include "engine/lower.h"
#include "files.h"
#include "graphs.h"
#include "program_grammar.h"

namespace fib::engine {
namespace {

/// Why a program is refused.
std::string refusal(const Program& program) {
  return test::error_of([&] { check_program(program); });
}

class HostileProgram : public testing::Test {
 protected:
  TensorStore tensors;
  Program program = lower(test::transformer("full"), Precision::f32, tensors);
  Step& linear() {
    return *std::find_if(program.steps.begin(), program.steps.end(),
                         [](const Step& s) { return s.kind == StepKind::linear; });
  }
};

TEST_F(HostileProgram, is_refused_where_it_reads_outside_a_tensor) {
  linear().at(Role::bias).offset = 1 << 20;
  EXPECT_TRUE(test::mentions(refusal(program), "bias begins outside"));
  linear().at(Role::bias).offset = 0;
  linear().at(Role::x).strides[0] = int64_t{1} << 39;
  EXPECT_TRUE(test::mentions(refusal(program), "x reaches beyond"));
}

TEST_F(HostileProgram, is_refused_where_its_steps_are_in_a_circle) {
  std::swap(program.steps.front(), program.steps.back());
  EXPECT_TRUE(test::mentions(refusal(program), "before any step has written it"));
}

TEST_F(HostileProgram, is_refused_where_sizes_are_absurd_or_do_not_agree) {
  linear().at(Role::x).sizes[1] = 3;
  EXPECT_NE(refusal(program), "");
  program.arena_elements = int64_t{1} << 50;
  EXPECT_TRUE(test::mentions(refusal(program), "an arena of"));
}

TEST_F(HostileProgram, is_refused_where_it_writes_to_a_tensor) {
  linear().at(Role::out).buffer = linear().at(Role::weights).buffer;
  EXPECT_TRUE(test::mentions(refusal(program), "cannot be written"));
}

class HostileLoop : public testing::Test {
 protected:
  TensorStore tensors;
  Program program = lower(test::sampler(), Precision::f32, tensors);
  Step& loop() { return *std::ranges::find(program.steps, StepKind::repeat, &Step::kind); }
};

TEST_F(HostileLoop, is_refused_where_a_table_has_fewer_rows_than_times) {
  EXPECT_EQ(refusal(program), "");
  loop().attributes = Repeat{4};
  EXPECT_TRUE(test::mentions(refusal(program), "beyond its buffer in the last time"));
  loop().attributes = Repeat{int64_t{1} << 40};
  EXPECT_TRUE(test::mentions(refusal(program), "accepted are 1 to 4096"));
}

TEST_F(HostileLoop, is_refused_where_anything_but_a_copied_row_moves) {
  loop().body.back().at(Role::out).advance = 1;
  EXPECT_TRUE(test::mentions(refusal(program), "out cannot move from time to time"));
  loop().body.back().at(Role::out).advance = 0;
  Step& row = loop().body.front();
  ASSERT_EQ(row.kind, StepKind::copy);
  ASSERT_GT(row.at(Role::x).advance, 0);
  row.at(Role::x) = row.at(Role::out), row.at(Role::x).advance = 1;
  EXPECT_NE(refusal(program), "");
}

TEST_F(HostileLoop, is_refused_where_loops_are_nested_or_empty) {
  const Step inner = loop();
  loop().body.push_back(inner);
  EXPECT_TRUE(test::mentions(refusal(program), "cannot have a body"));
  loop().body.clear();
  EXPECT_TRUE(test::mentions(refusal(program), "a body of 0 steps"));
}

TEST_F(HostileLoop, counts_its_work_for_every_time) {
  const int64_t thrice = requirements(program).work;
  loop().attributes = Repeat{1};
  EXPECT_GT(thrice, 2 * requirements(program).work);
}

constexpr int64_t kHuge = int64_t{1} << 32;

/// Buffers 0 and 1 are input and output, 2 the arena, 3 weights of 16 values.
Program one_step(const Step& step, int64_t arena) {
  Program p;
  p.sample = {1, 4, 4}, p.classes = 16, p.arena_elements = arena;
  p.buffers = {{Buffer::Kind::input, 16, 0, "", TensorType::f32},
               {Buffer::Kind::output, 16, 0, "", TensorType::f32},
               {Buffer::Kind::arena, arena, 0, "", TensorType::f32},
               {Buffer::Kind::tensor, 16, 0, "weights", TensorType::f32}};
  Step last;
  last.at(Role::x) = {0, 0, {16}, {1}}, last.at(Role::out) = {1, 0, {16}, {1}};
  p.steps = {step, last};
  return p;
}

Step huge_convolution() {
  Step s;
  s.kind = StepKind::conv2d;
  s.attributes = Window{{16384, 16384}, {5461, 5461}, {16384, 16384}, 1};
  s.at(Role::x) = {0, 0, {1, kHuge, 1, 1}, {0, 0, 0, 0}};
  s.at(Role::weights) = {3, 0, {16}, {1}};
  s.at(Role::out) = {2, 0, {1, 4, 4, 16}, {256, 64, 16, 1}};
  return s;
}

TEST(CheckProgram, refuses_a_convolution_whose_weights_are_2_to_the_64_values) {
  Step s = huge_convolution();
  EXPECT_EQ(refusal(one_step(s, 256)), "step 0 (conv2d): its sizes multiply or add up to more than 63 bits hold");
  s.at(Role::scratch) = {2, 0, {16}, {1}};
  EXPECT_EQ(refusal(one_step(s, 256)), "step 0 (conv2d): its sizes multiply or add up to more than 63 bits hold");
}

TEST(CheckProgram, refuses_a_linear_layer_whose_weights_are_2_to_the_64_values) {
  Step s;
  s.kind = StepKind::linear;
  s.at(Role::x) = {2, 0, {1, kHuge}, {0, 1}};
  s.at(Role::weights) = {3, 0, {16}, {1}};
  s.at(Role::out) = {2, 0, {1, kHuge}, {0, 1}};
  Program p = one_step(s, kHuge);
  Step before;
  before.at(Role::x) = {0, 0, {16}, {1}}, before.at(Role::out) = {2, 0, {16}, {1}};
  p.steps.insert(p.steps.begin(), before);
  EXPECT_EQ(refusal(p), "step 1 (linear): its sizes multiply or add up to more than 63 bits hold");
}

TEST(CheckProgram, refuses_a_product_whose_packed_matrix_is_larger_than_any_model) {
  Step s;
  s.kind = StepKind::matmul;
  s.at(Role::x) = {0, 0, {1, kHuge}, {0, 0}}, s.at(Role::x).strides[1] = 0;
  s.at(Role::x) = {2, 0, {1, kHuge}, {0, 1}};
  s.at(Role::y) = {0, 0, {kHuge, 1}, {0, 0}};
  s.at(Role::out) = {2, 0, {1, 1}, {1, 1}};
  Program p = one_step(s, kHuge);
  Step before;
  before.at(Role::x) = {0, 0, {16}, {1}}, before.at(Role::out) = {2, 0, {16}, {1}};
  p.steps.insert(p.steps.begin(), before);
  EXPECT_TRUE(test::mentions(refusal(p), "68719476736 values when it is packed"));
}

/// An MLP in blocks of rows, and its loop.
struct BlockedMlp {
  TensorStore tensors;
  Program program = lower(test::mlp(30), Precision::f32, tensors);
  Step& loop = *std::ranges::find(program.steps, StepKind::row_blocks, &Step::kind);
};

TEST(CheckProgram, refuses_rows_in_blocks_that_leave_their_buffers) {
  const auto spoiled = [](const std::function<void(Step&)>& spoil) {
    BlockedMlp mlp;
    spoil(mlp.loop);
    return refusal(mlp.program);
  };
  EXPECT_EQ(spoiled([](Step&) {}), "");
  const auto more_rows = [](Step& s) { s.attributes = RowBlocks{901, s.as<RowBlocks>().block}; };
  EXPECT_TRUE(test::mentions(spoiled(more_rows), "reaches beyond its buffer in the last block"));
  const auto huge = [](Step& s) { s.attributes = RowBlocks{int64_t{1} << 62, s.as<RowBlocks>().block}; };
  EXPECT_TRUE(test::mentions(spoiled(huge), "more than 63 bits hold"));
  const auto other_block = [](Step& s) { s.attributes = RowBlocks{900, s.as<RowBlocks>().block - 1}; };
  EXPECT_TRUE(test::mentions(spoiled(other_block), "rows of a block: "));
  const auto faster = [](Step& s) { s.body[0].at(Role::x).advance += 24; };
  EXPECT_TRUE(test::mentions(spoiled(faster), "x moves by"));
  const auto weights = [](Step& s) { s.body[0].at(Role::weights).advance = 16; };
  EXPECT_TRUE(test::mentions(spoiled(weights), "weights has no rows to move along"));
  const auto nested = [](Step& s) { s.body.push_back(Step(s)); };
  EXPECT_TRUE(test::mentions(spoiled(nested), "cannot have a body"));
  const auto other_kind = [](Step& s) { s.body[0].kind = StepKind::matmul; };
  EXPECT_NE(spoiled(other_kind), "");
  const auto still = [](Step& s) { s.body[1].at(Role::out).advance = 0; };
  EXPECT_NE(spoiled(still), "");
  const auto outside = [](Step& s) { s.kind = StepKind::copy; };
  EXPECT_TRUE(test::mentions(spoiled(outside), "cannot have a body"));
}

/// Values that running a program would touch, at most.
bool is_small(const Program& p) {
  constexpr int64_t kSmall = 4096;
  const auto small = [](int64_t value) { return value <= kSmall; };
  int64_t work = 0;
  const auto add = [&](const Step& s, int64_t times) {
    for_operands(s, [&](const Operand& o) { work += o.elements(); });
    if (s.kind == StepKind::linear || s.kind == StepKind::matmul)
      work += s.at(Role::x).elements() * s.at(Role::out).sizes.back() * times;
    if (const auto* window = s.attributes.get<Conv1d>(); window != nullptr && s.has(Role::weights))
      work += s.at(Role::x).sizes[1] * window->kernel * s.at(Role::out).elements() * times;
    if (const auto* window = s.attributes.get<Window>())
      for (const int64_t side : window->kernel) work += side > 3 ? kSmall : 0;
  };
  for (const Step& s : p.steps) {
    add(s, 1);
    const int64_t times = s.kind == StepKind::repeat ? s.as<Repeat>().count
                          : s.body.empty()           ? 1
                                                     : s.as<RowBlocks>().rows;
    for (const Step& inner : s.body) add(inner, times);
  }
  return small(work) && std::ranges::all_of(p.buffers, small, &Buffer::elements);
}

/// Every buffer in memory of its own size, where a sanitizer sees a step that leaves it.
void run_steps(const Program& p) {
  std::vector<std::vector<float>> values;
  Memory memory;
  for (const Buffer& b : p.buffers) {
    values.emplace_back(static_cast<size_t>(b.elements), 0.5f);
    memory.base.push_back(reinterpret_cast<std::byte*>(values.back().data()));
  }
  for (const Step& s : p.steps) row_of(s.kind).bind(s, p)(memory);
}

TEST(CheckProgram, accepts_only_programs_of_the_grammar_that_stay_inside_their_buffers) {
  constexpr uint64_t kSeeds = 230'000;
  int accepted = 0, ran = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    test::SeededChoices choices(seed);
    const Program program = test::hostile_program(choices);
    const std::string why = refusal(program);
    ASSERT_EQ(why.find('\n'), std::string::npos) << "seed " << seed;
    if (!why.empty()) continue;
    ++accepted;
    ASSERT_EQ(test::out_of_bounds(program), "") << "seed " << seed;
    if (!is_small(program)) continue;
    test::error_of([&] { run_steps(program); });  // attention that cannot be is refused when it is bound
    ++ran;
  }
  EXPECT_GT(accepted, kSeeds / 100);  // the grammar is near what is accepted
  EXPECT_GT(ran, kSeeds / 200);
}

}  // namespace
}  // namespace fib::engine
