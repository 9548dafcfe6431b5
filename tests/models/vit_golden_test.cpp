// SPDX-License-Identifier: Apache-2.0
#include "golden_torch.h"
#include "models/model.h"

namespace fib::models {
namespace {

const nlohmann::json& golden_models() {
  static const nlohmann::json models = golden::read_json("golden_vit.json")["models"];
  return models;
}

ModelPtr filled(const std::string& name, const std::string& attention, at::ScalarType type) {
  Options options;
  options.attention = AttentionSpec::parse(attention);
  options.initialise = false;
  const ModelPtr model = make(name, options);
  model->to(type);
  golden::fill(*model);
  return model;
}

at::Tensor golden_images(const std::string& name, at::ScalarType type) {
  return golden::images(golden_models()[name]["input_shape"].get<std::vector<int64_t>>()).to(type);
}

struct Variant {
  const char* attention;
  const char* result;
};

class GoldenMiniVit : public testing::TestWithParam<Variant> {
 protected:
  const nlohmann::json& want() const { return golden_models()["mini_vit"]["results"][GetParam().result]; }
};

TEST_P(GoldenMiniVit, gives_the_reference_logits_and_gradients) {
  const ModelPtr model = filled("mini_vit", GetParam().attention, at::kDouble);
  const at::Tensor logits = model->forward(golden_images("mini_vit", at::kDouble));
  golden::expect_summary(logits, want(), 1e-10, "logits");

  const at::Tensor loss = at::cross_entropy_loss(logits, at::full({1}, 1, at::kLong));
  EXPECT_NEAR(loss.item<double>(), want()["ce_loss_label1"].get<double>(), 1e-10);
  loss.backward();
  for (const auto& item : model->named_parameters()) {
    EXPECT_NEAR(item.value().grad().norm().item<double>(), want()["grad_l2"][item.key()].get<double>(), 1e-9)
        << item.key();
  }
}

TEST_P(GoldenMiniVit, gives_the_same_without_gradients_and_in_float) {
  const at::NoGradGuard no_grad;
  const at::Tensor exact =
      filled("mini_vit", GetParam().attention, at::kDouble)->forward(golden_images("mini_vit", at::kDouble));
  golden::expect_summary(exact, want(), 1e-10, "float64");
  const at::Tensor single =
      filled("mini_vit", GetParam().attention, at::kFloat)->forward(golden_images("mini_vit", at::kFloat));
  golden::expect_summary(single, want(), 2e-5, "float32");
}

INSTANTIATE_TEST_SUITE_P(Variants, GoldenMiniVit,
                         testing::Values(Variant{"full", "dense"},
                                         Variant{"fibottention:permute=none", "fib_wythoff_neginf"},
                                         Variant{"fibottention-modified:permute=none", "fib_modified_neginf"},
                                         Variant{"fibottention:permute=none,masking=zero", "fib_wythoff_scorezero"},
                                         Variant{"fibottention", "fib_wythoff_neginf_pyshuffle_seed_eq_layer"}),
                         [](const auto& tested) { return std::string(tested.param.result); });

class GoldenVit : public testing::TestWithParam<const char*> {};

TEST_P(GoldenVit, gives_the_reference_logits) {
  const at::NoGradGuard no_grad;
  const ModelPtr model = filled(GetParam(), "full", at::kFloat);
  const at::Tensor logits = model->forward(golden_images(GetParam(), at::kFloat));
  golden::expect_summary(logits, golden_models()[GetParam()]["results"]["dense"], 2e-5, "float32");
}

INSTANTIATE_TEST_SUITE_P(Rows, GoldenVit,
                         testing::Values("vit_tiny_patch16_224", "deit_small_patch16_224",
                                         "vit_base_patch16_224_10cls"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(GoldenVitTiny, gives_the_reference_logits_in_double) {
  const at::NoGradGuard no_grad;
  const char* name = "vit_tiny_patch16_224";
  const at::Tensor logits = filled(name, "full", at::kDouble)->forward(golden_images(name, at::kDouble));
  golden::expect_summary(logits, golden_models()[name]["results"]["dense"], 1e-10, "float64");
}

TEST(GoldenVitParameters, have_the_reference_names_shapes_and_count) {
  for (const auto& [name, want] : golden_models().items()) {
    SCOPED_TRACE(name);
    Options options;
    options.initialise = false;
    const ModelPtr model = make(name, options);
    const auto parameters = model->named_parameters();
    ASSERT_EQ(parameters.size(), want["state_dict"].size());
    int64_t count = 0;
    for (size_t i = 0; i < parameters.size(); ++i) {
      EXPECT_EQ(parameters[i].key(), want["state_dict"][i][0].get<std::string>());
      EXPECT_EQ(parameters[i].value().sizes().vec(), want["state_dict"][i][1].get<std::vector<int64_t>>());
      count += parameters[i].value().numel();
    }
    EXPECT_TRUE(model->named_buffers().is_empty());
    EXPECT_EQ(count, want["params"].get<int64_t>());
    EXPECT_EQ(model->cost().parameters, count);
  }
}

}  // namespace
}  // namespace fib::models
