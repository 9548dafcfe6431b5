// SPDX-License-Identifier: Apache-2.0
// Compiled decoders: steps on kept keys and values against the graph of all tokens at once, in float64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "engine/engine.h"
#include "engine/lower.h"
#include "engine/program.h"
#include "fibottention/engine.h"
#include "files.h"
#include "graphs.h"
#include "oracle/graph_oracle.h"

namespace fib::engine {
namespace {

using test::error_of;
using test::mentions;

constexpr size_t kSymbols = 19;

std::vector<int32_t> some_tokens(size_t count) {
  std::vector<int32_t> tokens(count);
  for (size_t i = 0; i < count; ++i) tokens[i] = static_cast<int32_t>(i * i * 7 % kSymbols);
  return tokens;
}

/// A decoder's file with steps for one token and for eight.
struct Compiled {
  explicit Compiled(const test::DecoderShape& shape = {}, Precision precision = Precision::f32,
                    const std::vector<int64_t>& counts = {1, 8}) {
    TensorStore tensors;
    FibContent content;
    content.precision = precision;
    for (const int64_t count : counts)
      content.programs.push_back(lower(test::decoder(count, shape), precision, tensors));
    write_fib(file(), content, tensors.views());
  }
  std::filesystem::path file() const { return directory / "d.fib"; }

  test::TemporaryDirectory directory;
};

std::vector<float> step(Engine& engine, std::span<const int32_t> tokens) {
  std::vector<float> logits(kSymbols);
  engine.step(tokens, logits);
  return logits;
}

double distance(std::span<const float> got, std::span<const double> wanted) {
  double most = 0;
  for (size_t i = 0; i < got.size(); ++i) most = std::max(most, std::abs(static_cast<double>(got[i]) - wanted[i]));
  return most;
}

std::vector<double> exact_logits(const test::DecoderShape& shape, std::span<const int32_t> tokens) {
  const auto count = static_cast<int64_t>(tokens.size());
  return test::evaluate(test::decoder(count, shape), {{count}, {tokens.begin(), tokens.end()}}).data;
}

TEST(CompiledDecoder, gives_the_graphs_logits_token_by_token_and_in_any_parts) {
  const std::vector<int32_t> tokens = some_tokens(40);
  for (const bool rotary : {false, true}) {
    for (const bool everything : {false, true}) {
      const test::DecoderShape shape{.rotary = rotary, .everything = everything};
      const Compiled compiled(shape);
      Engine one_by_one(compiled.file()), in_parts(compiled.file());
      for (size_t t = 0; t < tokens.size(); ++t) {
        const std::vector<float> logits = step(one_by_one, std::span(tokens).subspan(t, 1));
        EXPECT_LT(distance(logits, exact_logits(shape, std::span(tokens).first(t + 1))), 1e-5) << t;
        in_parts.restart();
        EXPECT_EQ(step(in_parts, std::span(tokens).first(t + 1)), logits) << t << ": the same bits";
      }
      EXPECT_EQ(one_by_one.position(), 40);
    }
  }
}

/// The ring holds what is looked back at, and no more.
TEST(CompiledDecoder, with_rotary_positions_goes_on_in_a_small_ring) {
  const test::DecoderShape small{.rotary = true, .rows = 14}, large{.rotary = true, .rows = 100};
  const std::vector<int32_t> tokens = some_tokens(100);
  const Compiled ring(small), whole(large);
  Engine a(ring.file()), b(whole.file());
  for (size_t t = 0; t < tokens.size(); ++t)
    EXPECT_EQ(step(a, std::span(tokens).subspan(t, 1)), step(b, std::span(tokens).subspan(t, 1))) << t;
}

TEST(CompiledDecoder, in_low_precision_is_near_float32) {
  const std::vector<int32_t> tokens = some_tokens(30);
  for (const Precision precision : {Precision::bf16, Precision::int8}) {
    const Compiled compiled({}, precision);
    Engine engine(compiled.file());
    EXPECT_LT(distance(step(engine, tokens), exact_logits({}, tokens)), 0.1);
  }
}

TEST(CompiledDecoder, remembers_nothing_of_a_step_that_it_refuses) {
  const Compiled compiled;
  Engine engine(compiled.file());
  const std::vector<int32_t> tokens = some_tokens(41);
  const auto refused = [&](std::span<const int32_t> these, const char* part) {
    EXPECT_TRUE(mentions(error_of([&] { step(engine, these); }), part));
    EXPECT_EQ(engine.position(), 0);
  };
  refused({}, "0 tokens and 19 logits");
  refused(std::vector<int32_t>{3, 19}, "token 19, accepted are 0 to 18");
  refused(std::vector<int32_t>{-1}, "token -1, accepted");
  refused(tokens, "41 tokens after 0, this model has learned positions for 40");
  EXPECT_TRUE(mentions(error_of([&] { engine.program(1, 1); }), "takes tokens, not images"));
}

TEST(CompiledDecoder, is_checked_for_what_it_keeps) {
  TensorStore tensors;
  const Program good = lower(test::decoder(1), Precision::f32, tensors);
  const auto refusal = [&](const std::function<void(Program&, Step&)>& spoil) {
    Program program = good;
    spoil(program, *std::ranges::find(program.steps, StepKind::cached_attention, &Step::kind));
    return error_of([&] { check_program(program); });
  };
  const auto with = [&](const std::function<void(CachedAttention&)>& spoil) {
    return refusal([&](Program&, Step& s) {
      CachedAttention a = s.as<CachedAttention>();
      spoil(a);
      s.attributes = a;
    });
  };
  EXPECT_EQ(with([](auto&) {}), "");
  EXPECT_TRUE(mentions(with([](auto& a) { a.distances[1].back() = 48; }), "distance 48 of a cache of 48 rows"));
  EXPECT_TRUE(mentions(with([](auto& a) { a.distances[1].front() = -1; }), "distance -1 stands behind -1"));
  EXPECT_TRUE(
      mentions(with([](auto& a) { std::swap(a.distances[0][0], a.distances[0][1]); }), "distance 1 stands behind 2"));
  EXPECT_TRUE(mentions(with([](auto& a) { a.distances.pop_back(); }), "distances of 1 heads, of 2"));
  EXPECT_TRUE(mentions(with([](auto& a) { a.rows = 1 << 30; }), "rows of the cache"));
  EXPECT_TRUE(mentions(with([](auto& a) { a.rotary_base = -3; }), "rotary positions with base -3"));
  EXPECT_TRUE(mentions(refusal([](Program& p, Step&) { p.state_elements = 100; }), "it lies outside the state"));
  EXPECT_TRUE(mentions(refusal([](Program& p, Step&) { p.state_elements = int64_t{1} << 40; }), "a state of"));
  EXPECT_TRUE(mentions(refusal([](Program&, Step& s) { s.at(Role::keys).buffer = s.at(Role::q).buffer; }), "keys"));
  EXPECT_TRUE(mentions(refusal([](Program&, Step& s) { s.at(Role::q).buffer = s.at(Role::keys).buffer; }),
                       "q cannot be what is kept"));
  EXPECT_TRUE(mentions(refusal([](Program&, Step& s) { s.at(Role::keys).strides[1] = 0; }), "keys is not contiguous"));
}

/// A table is never left, whatever a file computes as a token.
TEST(CompiledDecoder, takes_any_number_as_a_token_of_its_table) {
  TensorStore tensors;
  Program program = lower(test::decoder(1), Precision::f32, tensors);
  const Step& embedding = *std::ranges::find(program.steps, StepKind::embedding, &Step::kind);
  std::vector<float> table(static_cast<size_t>(embedding.at(Role::y).elements()));
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i / 24);
  std::vector<float> places(40 * 24), out(static_cast<size_t>(program.arena_elements));
  float token = 0;
  Memory memory;
  memory.base.resize(program.buffers.size());
  const auto place = [&](Role role, float* values) {
    memory.base[static_cast<size_t>(embedding.at(role).buffer)] = reinterpret_cast<std::byte*>(values);
  };
  place(Role::x, &token), place(Role::y, table.data()), place(Role::residual, places.data());
  place(Role::out, out.data());
  memory.position = 1000;  // the last place there is
  const BoundStep run = row_of(embedding.kind).bind(embedding, program);
  const float infinity = std::numeric_limits<float>::infinity();
  for (const auto& [given, row] : {std::pair{5.0F, 5.0F},
                                   {18.0F, 18.0F},
                                   {19.0F, 18.0F},
                                   {1e30F, 18.0F},
                                   {infinity, 18.0F},
                                   {-1.0F, 0.0F},
                                   {-infinity, 0.0F},
                                   {NAN, 0.0F}}) {
    token = given;
    run(memory);
    EXPECT_EQ(out[0], row) << given;
  }
}

TEST(CompiledDecoder, gives_back_its_distances_and_refuses_bad_files_in_one_line) {
  const Compiled compiled;
  const Engine engine(compiled.file());
  const auto& steps = engine.content().programs[1].steps;
  const Step& read = *std::ranges::find(steps, StepKind::cached_attention, &Step::kind);
  EXPECT_EQ(read.as<CachedAttention>(), (CachedAttention{2, 12, 48, 0.6, 0, {{1, 2, 5, 13}, {0, 4, 7}}}));
  EXPECT_EQ(engine.most_positions(), 40);

  const SafetensorsFile file(compiled.file());
  const auto refused = [&](const std::string& from, const std::string& to, const char* part) {
    TensorMetadata metadata = file.metadata();
    std::string& programs = metadata["fib_programs"];
    for (size_t at = programs.find(from); at != std::string::npos; at = programs.find(from, at + to.size()))
      programs.replace(at, from.size(), to);
    const auto other = compiled.directory / "other.fib";
    write_safetensors(other, file.tensors(), metadata);
    const std::string error = error_of([&] { Engine{other}; });
    EXPECT_TRUE(mentions(error, part)) << error;
    EXPECT_EQ(std::ranges::count(error, '\n'), 0);
  };
  refused("[0,4,7]", "[0,4,48]", "distance 48 of a cache of 48 rows");
  refused("[0,4,7]", "[0,4,-7]", "distances must be an integer from 0");
  refused("[0,4,7]", "7", "distances must be a list");
  const Compiled many({}, Precision::f32, {8});
  EXPECT_TRUE(mentions(error_of([&] { Engine{many.file()}; }), "has no steps for one of them"));
  refused("\"input\":[8]", "\"input\":[99999]", "or a number of tokens");
  refused("\"state\":", "\"stated\":", "outside the state");
}

TEST(CompiledDecoder, that_asks_for_much_is_refused_before_anything_is_allocated) {
  TensorStore tensors;
  FibContent content;
  content.programs.push_back(
      lower(test::decoder(1, {.rotary = true, .rows = int64_t{1} << 26}), Precision::f32, tensors));
  const test::TemporaryDirectory directory;
  write_fib(directory / "large.fib", content, tensors.views());
  EXPECT_TRUE(mentions(error_of([&] { Engine{directory / "large.fib"}; }), "GiB of memory, granted are 4"));
}

TEST(CompiledDecoder, is_run_from_c) {
  const Compiled compiled;
  fib_engine* engine = nullptr;
  ASSERT_EQ(fib_engine_load(compiled.file().c_str(), &engine), FIB_OK) << fib_last_error();
  fib_engine_info info{};
  ASSERT_EQ(fib_engine_describe(engine, &info), FIB_OK);
  EXPECT_EQ(info.channels + info.height + info.width + info.frames, 0);
  EXPECT_EQ(info.classes, static_cast<int64_t>(kSymbols));
  std::vector<float> logits(kSymbols, -1);
  const std::vector<int32_t> tokens = some_tokens(12);
  const auto refused = [&](fib_status status, const char* part) {
    EXPECT_EQ(status, FIB_INVALID_ARGUMENT) << part;
    EXPECT_TRUE(mentions(fib_last_error(), part)) << fib_last_error();
  };
  refused(fib_engine_step(nullptr, tokens.data(), 1, logits.data()), "null");
  refused(fib_engine_step(engine, nullptr, 1, logits.data()), "null");
  refused(fib_engine_step(engine, tokens.data(), 1, nullptr), "null");
  for (const int64_t count : {int64_t{0}, int64_t{-1}, INT64_MIN})
    refused(fib_engine_step(engine, tokens.data(), count, logits.data()), "accepted are 1 or more");
  const int32_t wrong = 19;
  refused(fib_engine_step(engine, &wrong, 1, logits.data()), "token 19, accepted are 0 to 18");
  refused(fib_engine_run(engine, logits.data(), 1, 0, 0, logits.data()), "takes tokens");
  refused(fib_engine_restart(nullptr), "null");
  EXPECT_EQ(logits, std::vector<float>(kSymbols, -1));
  ASSERT_EQ(fib_engine_step(engine, tokens.data(), 12, logits.data()), FIB_OK) << fib_last_error();
  EXPECT_LT(distance(logits, exact_logits({}, tokens)), 1e-5);
  int64_t position = 0;
  EXPECT_EQ(fib_engine_position(engine, &position), FIB_OK);
  EXPECT_EQ(position, 12);
  EXPECT_EQ(fib_engine_restart(engine), FIB_OK);
  EXPECT_EQ(fib_engine_position(engine, &position), FIB_OK);
  EXPECT_EQ(position, 0);
  fib_engine_free(engine);
}

}  // namespace
}  // namespace fib::engine
