// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

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

TEST(Export, refuses_what_it_cannot_write) {
  EXPECT_NE(export_mini("-o mini.bin").err.find("--out takes a name that ends in .onnx"), std::string::npos);
  EXPECT_EQ(export_mini("--opset 18 -o " + onnx_path()).code, 2);
  EXPECT_EQ(export_mini("--attention-as dense -o " + onnx_path()).code, 2);
  EXPECT_EQ(export_mini("-o /nowhere/mini.onnx").code, 1);
}

}  // namespace
}  // namespace fib::test
