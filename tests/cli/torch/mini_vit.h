// SPDX-License-Identifier: Apache-2.0
// Files for the commands that run a model: mini_vit's golden weights and input, and what comes out of them.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../run_fib.h"
#include "base/npy.h"
#include "base/safetensors.h"
#include "golden_fill.h"

namespace fib::test {

using NamedShapes = std::vector<std::pair<std::string, std::vector<int64_t>>>;

inline void add_linear(NamedShapes& list, const std::string& name, int64_t from, int64_t to) {
  list.push_back({name + ".weight", {to, from}});
  list.push_back({name + ".bias", {to}});
}

inline void add_norm(NamedShapes& list, const std::string& name, int64_t dim) {
  list.push_back({name + ".weight", {dim}});
  list.push_back({name + ".bias", {dim}});
}

/// The state dict of mini_vit: 64 pixels in patches of 8, 3 blocks of 48 channels.
inline NamedShapes mini_vit_shapes(int64_t classes) {
  NamedShapes list = {{"cls_token", {1, 1, 48}}, {"pos_embed", {1, 65, 48}}};
  list.push_back({"patch_embed.proj.weight", {48, 3, 8, 8}});
  list.push_back({"patch_embed.proj.bias", {48}});
  for (int block = 0; block < 3; ++block) {
    const std::string prefix = "blocks." + std::to_string(block) + ".";
    add_norm(list, prefix + "norm1", 48);
    add_linear(list, prefix + "attn.qkv", 48, 144);
    add_linear(list, prefix + "attn.proj", 48, 48);
    add_norm(list, prefix + "norm2", 48);
    add_linear(list, prefix + "mlp.fc1", 48, 192);
    add_linear(list, prefix + "mlp.fc2", 192, 48);
  }
  add_norm(list, "norm", 48);
  add_linear(list, "head", 48, classes);
  return list;
}

/// Writes golden weights in float64 and returns the file's path.
inline std::string mini_vit_weights(int64_t classes = 10) {
  const std::string path = scratch_path("mini_vit_" + std::to_string(classes) + ".safetensors");
  std::vector<std::vector<double>> values;
  std::vector<TensorView> views;
  for (const auto& [name, shape] : mini_vit_shapes(classes)) {
    values.push_back(golden::parameter_values(name, shape));
    views.push_back({name, TensorType::f64, shape, std::as_bytes(std::span<const double>(values.back()))});
  }
  write_safetensors(path, views);
  return path;
}

/// Writes the golden input [batch,3,height,width] in float64 and returns the file's path.
inline std::string golden_input(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t n : shape) count *= n;
  std::vector<double> values = golden::stream("input", count);
  for (double& v : values) v *= 1.7320508075688772;
  const std::string path = scratch_path("input.npy");
  write_npy<double>(path, shape, values);
  return path;
}

inline nlohmann::json mini_vit_golden(const std::string& variant) {
  std::ifstream file(FIB_TEST_DATA "/golden_models.json");
  return nlohmann::json::parse(file)["models"]["mini_vit"]["results"][variant];
}

/// "COMMAND --model mini_vit --weights F " for a command line.
inline std::string with_mini_vit(const std::string& command, int64_t classes = 10) {
  return command + " --model mini_vit --weights " + mini_vit_weights(classes) + " ";
}

/// Fails unless the program said one line on stderr with all these parts, nothing on stdout, and ended with this code.
inline void expect_refusal(const Outcome& outcome, int code, const std::vector<std::string>& parts) {
  EXPECT_EQ(outcome.code, code) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  for (const std::string& part : parts) {
    EXPECT_NE(outcome.err.find(part), std::string::npos) << "'" << part << "' is not in: " << outcome.err;
  }
}

}  // namespace fib::test
