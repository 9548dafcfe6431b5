// SPDX-License-Identifier: Apache-2.0
// A graph as an ONNX model, in standard operators alone and for any number of images.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "engine/onnx_node.h"

namespace fib::engine {

struct OnnxOptions {
  int64_t opset = 17;  ///< of the standard operators, 13 to 17; before 17 a layer norm is written in its parts
  OnnxForm form;
  std::map<std::string, std::string> metadata;  ///< stored beside the graph
};

inline constexpr int64_t kFirstOpset = 13, kLastOpset = 17;

/// The file's content: one input "images", one output "logits". ONNX's own checker has seen it. Throws
/// std::runtime_error where it would exceed what an ONNX file can hold, std::invalid_argument for gathers that cannot
/// be.
std::string to_onnx(const Graph& graph, const OnnxOptions& options = {});

/// Writes it atomically.
void write_onnx(const Graph& graph, const std::filesystem::path& file, const OnnxOptions& options = {});

}  // namespace fib::engine
