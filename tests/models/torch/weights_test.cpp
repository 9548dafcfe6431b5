// SPDX-License-Identifier: Apache-2.0
#include "models/torch/weights.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <stdexcept>

#include "models/torch/layers.h"

namespace fib::models {
namespace {

namespace fs = std::filesystem;

/// A file name in a folder of its own, removed in the end.
class Weights : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("fib_weights_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    torch::manual_seed(11);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path file(const std::string& name = "w.safetensors") const { return folder_ / name; }

  static at::Tensor logits(Model& model, int64_t side = 64) {
    const at::NoGradGuard no_grad;
    model.eval();
    return model.forward(
        at::linspace(-1, 1, 3 * side * side).view({1, 3, side, side}).to(model.parameters()[0].dtype()));
  }

  static std::string error_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const std::exception& e) {
      return e.what();
    }
    return "";
  }

 private:
  fs::path folder_;
};

TEST_F(Weights, come_back_as_they_were_saved) {
  for (const char* spec : {"full", "fibottention", "linformer"}) {
    Options options;
    options.attention = AttentionSpec::parse(spec);
    const ModelPtr model = make("mini_vit", options);
    save_weights(*model, file());
    EXPECT_TRUE(logits(*make_with_weights("mini_vit", file(), options)).equal(logits(*model))) << spec;
  }
}

TEST_F(Weights, hold_no_support) {
  Options options;
  options.attention = AttentionSpec::parse("fibottention");
  save_weights(*make("mini_vit", options), file());
  const SafetensorsFile saved(file());
  EXPECT_EQ(saved.tensors().size(), make("mini_vit")->parameters().size());
  EXPECT_EQ(saved.metadata().at("format"), "pt");
}

TEST_F(Weights, fit_any_support_attention) {
  const ModelPtr dense = make("mini_vit");
  save_weights(*dense, file());
  Options options;
  options.attention = AttentionSpec::parse("local:w=63,diagonal=true");
  const at::Tensor difference = logits(*make_with_weights("mini_vit", file(), options)) - logits(*dense);
  EXPECT_LT(difference.abs().max().item<double>(), 1e-5);
}

TEST_F(Weights, are_converted_between_types) {
  const ModelPtr model = make("mini_vit");
  for (const auto& [type, tolerance] : {std::pair{at::kHalf, 0.02}, {at::kBFloat16, 0.1}, {at::kDouble, 1e-6}}) {
    const ModelPtr copy = make_with_weights("mini_vit", (save_weights(*model, file()), file()));
    copy->to(type);
    save_weights(*copy, file());
    const at::Tensor difference = logits(*make_with_weights("mini_vit", file())) - logits(*model);
    EXPECT_LT(difference.abs().max().item<double>(), tolerance) << type;
  }
}

TEST_F(Weights, bring_their_number_of_classes) {
  Options options;
  options.classes = 7;
  save_weights(*make("mini_vit", options), file());
  EXPECT_EQ(logits(*make_with_weights("mini_vit", file())).size(1), 7);
}

TEST_F(Weights, of_another_number_of_classes_are_refused_unless_a_new_classifier_is_asked_for) {
  const ModelPtr model = make("mini_vit");
  save_weights(*model, file());
  Options options;
  options.classes = 4;
  const std::string error = error_of([&] { make_with_weights("mini_vit", file(), options); });
  EXPECT_NE(error.find("2 misshapen (head.weight is [10, 48], not [4, 48]"), std::string::npos) << error;
  const ModelPtr tuned = make_with_weights("mini_vit", file(), options, {.new_classifier = true});
  EXPECT_EQ(logits(*tuned).size(1), 4);
  EXPECT_TRUE(tuned->named_parameters()["norm.weight"].equal(model->named_parameters()["norm.weight"]));
  EXPECT_LT(tuned->named_parameters()["head.weight"].abs().max().item<double>(), 0.2);
}

TEST_F(Weights, of_another_model_are_refused_by_name_and_change_nothing) {
  save_weights(*make("vit_nano_patch2_28"), file());
  const ModelPtr model = make("vit_micro_patch2_28");
  const at::Tensor before = model->named_parameters()["norm.weight"].detach().clone();
  const std::string error = error_of([&] { load_weights(*model, file()); });
  EXPECT_NE(error.find("vit_micro_patch2_28"), std::string::npos) << error;
  EXPECT_NE(error.find("12 missing (blocks.3.norm1.weight, "), std::string::npos) << error;
  EXPECT_NE(error.find("misshapen (cls_token is [1, 1, 48], not [1, 1, 96]"), std::string::npos) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos);
  EXPECT_TRUE(model->named_parameters()["norm.weight"].equal(before));
  EXPECT_NE(error_of([&] { make_with_weights("mini_vit", file()); }), "");
}

TEST_F(Weights, with_tensors_too_many_are_refused_by_name) {
  save_weights(*make("vit_micro_patch2_28"), file());
  Options options;
  const ModelPtr shallow = make("vit_nano_patch2_28", options);
  const std::string error = error_of([&] { load_weights(*shallow, file()); });
  EXPECT_NE(error.find("12 unexpected (blocks.3."), std::string::npos) << error;
}

TEST_F(Weights, are_interpolated_to_another_resolution) {
  const ModelPtr model = make("mini_vit");
  save_weights(*model, file());
  Options options;
  options.resolution = 96;
  const ModelPtr larger = make_with_weights("mini_vit", file(), options);
  model->set_resolution(96, 96);
  EXPECT_TRUE(logits(*larger, 96).equal(logits(*model, 96)));
}

}  // namespace
}  // namespace fib::models
