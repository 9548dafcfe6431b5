// SPDX-License-Identifier: Apache-2.0
// Backbones compiled and run without torch give what their modules give.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "engine/engine.h"
#include "engine/lower.h"
#include "engine/torch/record.h"
#include "engine/torch/some_model.h"
#include "files.h"
#include "models/kinds.h"

namespace fib::engine {
namespace {

at::Tensor logits_of(models::Model& model, const at::Tensor& samples, Precision precision) {
  const test::TemporaryDirectory folder;
  TensorStore tensors;
  FibContent content;
  content.precision = precision, content.most_samples = samples.size(0);
  content.programs.push_back(lower(record(model), precision, tensors));
  write_fib(folder / "model.fib", content, tensors.views());
  Engine engine(folder / "model.fib");
  const Program& program = engine.content().programs.front();
  at::Tensor logits = at::empty({samples.size(0), program.classes});
  engine.run(program, {samples.data_ptr<float>(), static_cast<size_t>(samples.numel())},
             {logits.data_ptr<float>(), static_cast<size_t>(logits.numel())});
  return logits;
}

/// The largest difference from what the module gives, over its largest logit.
double error_of(const std::string& name, const std::string& attention, Precision precision = Precision::f32,
                const std::string& tokens = "") {
  const at::NoGradGuard no_grad;
  const models::ModelPtr model = test::some_model(name, attention, tokens);
  const at::Tensor samples = test::noise_for(*model, 2), wanted = model->forward(samples);
  const at::Tensor worst = (logits_of(*model, samples, precision) - wanted).abs().max();
  return (worst / wanted.abs().max()).item<double>();
}

TEST(Compile, gives_the_module_s_logits_for_every_backbone) {
  for (const std::string& name : test::minis()) {
    for (const char* attention : {"full", "fibottention", "topk"}) {
      EXPECT_LT(error_of(name, attention), 2e-5) << name << " " << attention;
    }
  }
}

TEST(Compile, gives_the_module_s_logits_for_every_mechanism) {
  for (const attention::MechanismInfo& m : attention::mechanisms()) {
    EXPECT_LT(error_of("mini_vit", m.name), 2e-5) << m.name;
  }
}

TEST(Compile, gives_the_module_s_logits_with_neighbors_and_summaries) {
  for (const char* spec : {"fibottention:grid=3", "local:summaries=3x2", "fibottention:grid=3,summaries=4x4"}) {
    EXPECT_LT(error_of("mini_vit", spec), 2e-5) << spec;
    EXPECT_LT(error_of("mini_vit", spec, Precision::bf16), 0.05) << spec;
    EXPECT_LT(error_of("mini_vit", spec, Precision::int8), 0.05) << spec;
  }
}

TEST(Compile, gives_the_module_s_logits_with_fewer_tokens) {
  for (const auto& [attention, tokens] : test::reduced_attentions())
    EXPECT_LT(error_of("mini_vit", attention, Precision::f32, tokens), 2e-5) << attention << " " << tokens;
}

TEST(Compile, is_near_in_low_precision) {
  for (const std::string& name : test::minis()) {
    EXPECT_LT(error_of(name, "fibottention", Precision::bf16), 0.05) << name;
    EXPECT_LT(error_of(name, "fibottention", Precision::int8), 0.05) << name;
  }
}

TEST(Compile, takes_the_kinds_that_say_so) {
  std::set<const models::Kind*> tried;
  for (const std::string& name : test::minis()) tried.insert(models::find_row(name).kind);
  for (const models::Kind* kind : models::kKinds) EXPECT_EQ(kind->compiles, tried.count(kind) == 1) << kind->name;
}

TEST(Compile, gives_the_module_s_logits_in_full_size) {
  if (std::getenv("FIB_ALL_MODELS") == nullptr) GTEST_SKIP() << "FIB_ALL_MODELS is not set; it takes minutes";
  for (const models::ModelRow& row : models::table()) EXPECT_LT(error_of(row.name, "fibottention"), 1e-4) << row.name;
}

}  // namespace
}  // namespace fib::engine
