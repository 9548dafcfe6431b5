// SPDX-License-Identifier: Apache-2.0
// From a graph to a file to logits, against the graph carried out in float64, node by node.
#include "engine/engine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "engine/lower.h"
#include "engine/policy.h"
#include "files.h"
#include "graphs.h"
#include "oracle/graph_oracle.h"

namespace fib::engine {
namespace {

std::vector<float> image_noise(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(std::sin(0.37 * static_cast<double>(i)));
  return values;
}

/// Removed when the tests are over.
const test::TemporaryDirectory& files() {
  static const test::TemporaryDirectory directory;
  return directory;
}

std::filesystem::path compiled(const Graph& graph, Precision precision, const std::string& name) {
  TensorStore tensors;
  FibContent content;
  content.precision = precision, content.most_samples = 3;
  content.programs.push_back(lower(graph, precision, tensors));
  content.card = {{"model", "test"}};
  const std::filesystem::path file = files() / name;
  write_fib(file, content, tensors.views());
  return file;
}

std::vector<float> logits_of(const std::filesystem::path& file, std::span<const float> images, size_t batch = 1) {
  Engine engine(file);
  const Program& program = engine.content().programs.front();
  std::vector<float> logits(batch * static_cast<size_t>(program.classes));
  engine.run(program, images, logits);
  return logits;
}

/// What the graph gives for one sample, carried out node by node in float64.
std::vector<double> exact_logits(const Graph& graph, std::span<const float> sample) {
  return test::evaluate(graph, {sizes(graph.shape(graph.inputs[0]), 1), {sample.begin(), sample.end()}}).data;
}

void expect_near(std::span<const float> got, std::span<const double> wanted, double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], tolerance) << i;
}

TEST(Engine, runs_a_transformer_block_as_the_graph_says) {
  for (const char* attention : {"full", "fibottention", "topk:k=4", "bigbird"}) {
    const Graph graph = test::transformer(attention);
    const std::vector<float> image = image_noise(3 * 16 * 16);
    const auto file = compiled(graph, Precision::f32, "block.fib");
    expect_near(logits_of(file, image), exact_logits(graph, image), 2e-5);
  }
}

TEST(Engine, low_precision_is_near_float32) {
  const Graph graph = test::transformer("fibottention");
  const std::vector<float> image = image_noise(3 * 16 * 16);
  for (const Precision precision : {Precision::bf16, Precision::int8}) {
    const auto file = compiled(graph, precision, "low.fib");
    expect_near(logits_of(file, image), exact_logits(graph, image), 0.1);
  }
}

TEST(Engine, bfloat16_halves_the_weights_of_linear_layers) {
  const auto size = [](Precision precision) {
    TensorStore tensors;
    lower(test::transformer("full"), precision, tensors);
    size_t bytes = 0;
    for (const TensorView& t : tensors.views()) bytes += t.name.starts_with("fc") ? t.bytes.size() : 0;
    return bytes;
  };
  EXPECT_NEAR(static_cast<double>(size(Precision::bf16)) / static_cast<double>(size(Precision::f32)), 0.5, 0.03);
}

TEST(Engine, takes_clips) {
  const Graph graph = test::of_clips();
  const std::vector<float> clip = image_noise(3 * 2 * 8 * 8);
  const auto file = compiled(graph, Precision::f32, "clips.fib");
  expect_near(logits_of(file, clip), exact_logits(graph, clip), 2e-5);
  const Engine engine(file);
  EXPECT_EQ(engine.program(8, 8).sample, (std::vector<int64_t>{3, 2, 8, 8}));
  EXPECT_EQ(engine.program(8, 8).frames(), 2);
}

TEST(Engine, runs_convolutions_pools_and_views_as_the_graph_says) {
  const Graph graph = test::convolutional();
  const std::vector<float> image = image_noise(3 * 12 * 12);
  expect_near(logits_of(compiled(graph, Precision::f32, "conv.fib"), image), exact_logits(graph, image), 2e-5);
}

/// The metadata of a policy that test::sampler is.
FibContent policy_content(TensorStore& tensors) {
  FibContent content;
  content.programs.push_back(lower(test::sampler(), Precision::f32, tensors));
  content.card = {{"model", "test"}};
  const PolicyInterface p{"pusht", "ddpm", {{"agent", {2, 2}}}, 3, 8, 4, 2};
  p.add_to(content.card);
  return content;
}

std::filesystem::path compiled_policy(const std::string& name, const std::function<void(FibContent&)>& change = {}) {
  TensorStore tensors;
  FibContent content = policy_content(tensors);
  if (change) change(content);
  const std::filesystem::path file = files() / name;
  write_fib(file, content, tensors.views());
  return file;
}

TEST(Engine, runs_the_loop_of_a_sampler_as_the_graph_says) {
  const Graph graph = test::sampler();
  validate(graph);
  const std::vector<float> sample = image_noise(4 + 3 * 8 * 2);
  const auto file = compiled(graph, Precision::f32, "loop.fib");
  expect_near(logits_of(file, sample), exact_logits(graph, sample), 1e-4);
  const Engine engine(file);
  const auto loops = std::ranges::count(engine.content().programs[0].steps, StepKind::repeat, &Step::kind);
  EXPECT_EQ(loops, 1);
}

TEST(Engine, a_loop_runs_alike_with_any_number_of_threads_and_again) {
  const auto file = compiled(test::sampler(), Precision::f32, "again.fib");
  const std::vector<float> sample = image_noise(4 + 3 * 8 * 2), once = logits_of(file, sample);
  Engine engine(file);
  std::vector<float> again(once.size());
  const int before = omp_get_max_threads();
  for (const int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    engine.run(engine.content().programs[0], sample, again);
    EXPECT_EQ(again, once);
  }
  omp_set_num_threads(before);
}

TEST(Policy, says_what_it_takes_and_gives) {
  const Engine engine(compiled_policy("says.fib"));
  const auto p = policy_of(engine.content());
  ASSERT_TRUE(p.has_value());
  EXPECT_EQ(p->observed_values(), 4);
  EXPECT_EQ(p->noise_values(), 48);
  EXPECT_EQ(p->action_values(), 8);
  EXPECT_EQ(p->observations, (std::vector<PolicyInterface::Observation>{{"agent", {2, 2}}}));
  EXPECT_FALSE(policy_of(Engine(compiled(test::sampler(), Precision::f32, "none.fib")).content()).has_value());
}

TEST(Policy, whose_metadata_does_not_fit_is_refused_in_one_line) {
  const auto refusal = [](const std::string& told) {
    const auto file = compiled_policy("bad.fib", [&](FibContent& content) { content.card["policy"] = told; });
    return test::error_of([&] { policy_of(Engine(file).content()); });
  };
  EXPECT_TRUE(test::mentions(refusal("{}"), "does not say what the policy sees"));
  const auto told = [](const char* shape, const char* noise, const char* actions) {
    return fmt::format(R"({{"task":"pusht","sampler":"ddpm","observations":[{{"name":"a","shape":{}}}],)"
                       R"("noise":{},"actions":{}}})",
                       shape, noise, actions);
  };
  EXPECT_EQ(refusal(told("[2,2]", "[3,8,2]", "[4,2]")), "");
  EXPECT_TRUE(test::mentions(refusal(told("[2,3]", "[3,8,2]", "[4,2]")), "54 values in and 8 out"));
  EXPECT_TRUE(test::mentions(refusal(told("[2,2]", "[3,8,2]", "[268435456,2]")), "536870912 out"));
  for (const auto& wrong :
       {told("[2]", "[3,8,2]", "[4,2]"), told("[2,0]", "[3,8,2]", "[4,2]"), told("[1e300,2]", "[3,8,2]", "[4,2]"),
        told("[2,2]", "[3,8]", "[4,2]"), told("[268435456,268435456,268435456,268435456]", "[3,8,2]", "[4,2]"),
        told("[2,2]", "[3,8,3]", "[4,2]"), told("\"2\"", "[3,8,2]", "[4,2]")})
    EXPECT_TRUE(test::mentions(refusal(wrong), "what it says of the policy cannot be")) << wrong;
}

TEST(Engine, a_sample_does_not_know_its_batch_nor_the_number_of_threads) {
  const auto file = compiled(test::transformer("fibottention"), Precision::f32, "batch.fib");
  const std::vector<float> images = image_noise(3 * 3 * 16 * 16);
  const std::vector<float> together = logits_of(file, images, 3);
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  for (size_t i = 0; i < 3; ++i) {
    const auto alone = logits_of(file, std::span(images).subspan(i * 768, 768));
    for (size_t c = 0; c < alone.size(); ++c) EXPECT_EQ(alone[c], together[i * alone.size() + c]);
  }
  omp_set_num_threads(before);
}

TEST(Engine, refuses_a_batch_above_its_limit_and_images_of_another_size) {
  Engine engine(compiled(test::transformer("full"), Precision::f32, "limit.fib"));
  const Program& program = engine.content().programs.front();
  std::vector<float> images(4 * 768), logits(4 * static_cast<size_t>(program.classes));
  EXPECT_THROW(engine.run(program, images, logits), std::invalid_argument);
  EXPECT_THROW(engine.program(32, 32), std::invalid_argument);
}

TEST(Engine, buffers_that_live_together_do_not_overlap) {
  TensorStore tensors;
  const Program p = lower(test::transformer("full"), Precision::int8, tensors);
  std::vector<std::pair<size_t, size_t>> lives(p.buffers.size(), {p.steps.size(), 0});
  for (size_t s = 0; s < p.steps.size(); ++s) {
    for_operands(p.steps[s], [&](const Operand& o) {
      auto& [first, last] = lives[static_cast<size_t>(o.buffer)];
      first = std::min(first, s), last = std::max(last, s);
    });
  }
  for (size_t a = 0; a < p.buffers.size(); ++a) {
    for (size_t b = a + 1; b < p.buffers.size(); ++b) {
      const Buffer &x = p.buffers[a], &y = p.buffers[b];
      if (x.kind != Buffer::Kind::arena || y.kind != Buffer::Kind::arena) continue;
      if (lives[a].first > lives[b].second || lives[b].first > lives[a].second) continue;
      EXPECT_TRUE(x.offset + x.elements <= y.offset || y.offset + y.elements <= x.offset) << a << " and " << b;
    }
  }
}

TEST(Engine, a_block_becomes_few_steps) {
  TensorStore tensors;
  const Program p = lower(test::transformer("full"), Precision::f32, tensors);
  const auto count = [&](StepKind kind) {
    return std::count_if(p.steps.begin(), p.steps.end(), [&](const Step& s) { return s.kind == kind; });
  };
  EXPECT_EQ(count(StepKind::unary), 0);   // GELU is in an epilogue
  EXPECT_EQ(count(StepKind::binary), 1);  // the position embedding; residuals are in epilogues
  EXPECT_EQ(count(StepKind::linear), 5);
}

TEST(Engine, carries_out_an_mlp_of_many_rows_in_blocks_and_one_step) {
  for (const int64_t side : {19, 30, 31}) {  // one block of 361 rows, three of 300, two of 324 and one of 313
    const Graph graph = test::mlp(side);
    const std::vector<float> image = image_noise(static_cast<size_t>(3 * side * side));
    expect_near(logits_of(compiled(graph, Precision::f32, "mlp.fib"), image), exact_logits(graph, image), 2e-5);
    expect_near(logits_of(compiled(graph, Precision::int8, "mlp.fib"), image), exact_logits(graph, image), 0.1);
  }
  const auto steps = [](int64_t side) {
    TensorStore tensors;
    return lower(test::mlp(side), Precision::f32, tensors).steps.size();
  };
  EXPECT_EQ(steps(31), steps(620));
}

// ---- Files ---------------------------------------------------------------------------------------------------------

std::string load_failure(const std::filesystem::path& file) {
  return test::error_of([&] { Engine{file}; });
}

TEST(FibFile, of_another_version_truncated_or_no_model_is_refused_in_one_line) {
  const auto file = compiled(test::transformer("full"), Precision::f32, "version.fib");
  const SafetensorsFile read(file);
  TensorMetadata metadata = read.metadata();
  metadata["fib_format"] = "1";
  const auto other = files() / "other.fib";
  write_safetensors(other, read.tensors(), metadata);
  EXPECT_TRUE(test::mentions(load_failure(other), "this program reads format 2"));
  metadata.erase("fib_format");
  write_safetensors(other, read.tensors(), metadata);
  EXPECT_TRUE(test::mentions(load_failure(other), "no compiled model"));
  metadata = read.metadata();
  metadata["fib_programs"] = "[{\"input\": 7}]";
  write_safetensors(other, read.tensors(), metadata);
  EXPECT_TRUE(test::mentions(load_failure(other), "input must be"));
  std::filesystem::resize_file(other, std::filesystem::file_size(other) / 2);
  EXPECT_NE(load_failure(other), "");
}

TEST(FibFile, whose_programs_are_not_one_model_is_refused) {
  TensorStore tensors;
  FibContent content;
  content.programs = {lower(test::transformer("full"), Precision::f32, tensors),
                      lower(test::convolutional(), Precision::f32, tensors)};
  write_fib(files() / "two.fib", content, tensors.views());
  EXPECT_TRUE(test::mentions(load_failure(files() / "two.fib"), "differ in channels, frames or classes"));
}

TEST(FibFile, gives_back_the_steps_that_were_written) {
  TensorStore tensors;
  const Program written = lower(test::convolutional(), Precision::f32, tensors);
  const auto file = compiled(test::convolutional(), Precision::f32, "steps.fib");
  const Engine engine(file);
  const Program& read = engine.content().programs.front();
  ASSERT_EQ(read.steps.size(), written.steps.size());
  EXPECT_EQ(read.arena_elements, written.arena_elements);
  for (size_t i = 0; i < read.steps.size(); ++i) {
    EXPECT_EQ(read.steps[i].kind, written.steps[i].kind);
    for (size_t r = 0; r < kRoles; ++r) {
      EXPECT_EQ(read.steps[i].operands[r].sizes, written.steps[i].operands[r].sizes);
      EXPECT_EQ(read.steps[i].operands[r].strides, written.steps[i].operands[r].strides);
    }
  }
  EXPECT_EQ(engine.content().card.at("model"), "test");
}

TEST(EngineInC, decides_and_says_what_is_wrong) {
  const std::string policy = compiled_policy("policy.fib").string();
  const std::string classifier = compiled(test::transformer("full"), Precision::f32, "classifier.fib").string();
  EXPECT_EQ(std::system((FIB_DECIDE_C " " + policy + " " + classifier).c_str()), 0);
}

TEST(EngineInC, classifies_and_says_what_is_wrong) {
  const auto file = compiled(test::transformer("fibottention"), Precision::f32, "c.fib");
  EXPECT_EQ(std::system((FIB_CLASSIFY_C " " + file.string()).c_str()), 0);
}

}  // namespace
}  // namespace fib::engine
