// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/safetensors.h"
#include "mini_vit.h"

namespace fib::test {
namespace {

std::string onnx_path() { return scratch_path("mini.onnx"); }

Outcome export_mini(const std::string& options) { return run_fib(with_mini_vit("export") + options); }

TEST(Export, writes_a_file_and_says_what_it_is) {
  const Outcome outcome = export_mini("--attention fibottention --resolution 96 -o " + onnx_path());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("mini_vit with fibottention, "), std::string::npos) << outcome.out;
  EXPECT_GT(std::filesystem::file_size(onnx_path()), 100'000U);
}

TEST(Export, writes_a_folder_for_timm) {
  const std::string folder = scratch_path("timm");
  const Outcome outcome = export_mini("--attention fibottention:wmax=9 --timm " + folder);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto config = nlohmann::json::parse(std::ifstream(folder + "/config.json"));
  EXPECT_EQ(config["architecture"], "vit_tiny_patch16_224");
  EXPECT_EQ(config["num_classes"], 10);
  EXPECT_EQ(config["model_args"]["embed_dim"], 48);
  EXPECT_EQ(config["model_args"]["img_size"], (std::vector<int>{64, 64}));
  EXPECT_EQ(config["pretrained_cfg"]["input_size"], (std::vector<int>{3, 64, 64}));
  EXPECT_EQ(config["fibottention"]["attention"], "fibottention:wmax=9");
  // What timm would load is what was exported: its parameters by name, and all of them.
  const SafetensorsFile weights(folder + "/model.safetensors");
  EXPECT_NE(weights.find("blocks.2.attn.qkv.weight"), nullptr);
}

TEST(Export, asks_where_to_and_names_what_timm_cannot_hold) {
  EXPECT_EQ(export_mini("").code, 2);
  EXPECT_NE(export_mini("").err.find("-o F.onnx, or --timm DIR"), std::string::npos);
  EXPECT_EQ(export_mini("--timm a -o " + onnx_path()).code, 2);
  EXPECT_EQ(export_mini("--timm a --opset 17").code, 2);
  EXPECT_EQ(export_mini("--timm /dev/null/a").code, 1);
}

TEST(Export, writes_linear_layers_of_bytes_in_less_room) {
  ASSERT_EQ(export_mini("-o " + onnx_path()).code, 0);
  const auto float32 = std::filesystem::file_size(onnx_path());
  const Outcome outcome = export_mini("--precision int8 -o " + onnx_path());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("full, int8, "), std::string::npos) << outcome.out;
  EXPECT_LT(std::filesystem::file_size(onnx_path()), float32 * 2 / 3);
}

TEST(Export, refuses_what_it_cannot_write) {
  EXPECT_NE(export_mini("-o mini.bin").err.find("--out takes a name that ends in .onnx"), std::string::npos);
  EXPECT_EQ(export_mini("--opset 18 -o " + onnx_path()).code, 2);
  expect_refusal(export_mini("--precision bf16 -o " + onnx_path()), 2, {"bf16", "f32", "int8"});
  EXPECT_EQ(export_mini("--attention-as dense -o " + onnx_path()).code, 2);
  EXPECT_EQ(export_mini("-o /nowhere/mini.onnx").code, 1);
}

}  // namespace
}  // namespace fib::test
