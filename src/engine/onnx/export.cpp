// SPDX-License-Identifier: Apache-2.0
#include "engine/onnx/export.h"

#include <fmt/format.h>
#include <onnx/checker.h>

#include <stdexcept>

#include "base/atomic_file.h"
#include "engine/onnx/builder.h"

namespace fib::engine {
namespace {

onnx::ModelProto model_of(const Graph& graph, const OnnxOptions& options) {
  OnnxBuilder builder(options.opset);
  OnnxNode node(graph, options.form, builder);
  builder.add_input("images", graph.shape(graph.inputs[0]));
  node.set_name(graph.inputs[0], "images");
  for (const Node& n : graph.nodes) node.write(n);
  builder.alias(node.name_of(graph.outputs[0]), "logits");
  builder.add_output("logits", graph.shape(graph.outputs[0]));
  for (const auto& [key, value] : options.metadata) {
    auto& entry = *builder.model().add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  return std::move(builder.model());
}

}  // namespace

std::string to_onnx(const Graph& graph, const OnnxOptions& options) {
  if (options.opset < kFirstOpset || options.opset > kLastOpset)
    throw std::invalid_argument(fmt::format("opset must be {} to {}, got {}", kFirstOpset, kLastOpset, options.opset));
  const onnx::ModelProto model = model_of(graph, options);
  try {
    onnx::checker::check_model(model);
  } catch (const std::exception& e) {
    throw std::runtime_error(fmt::format("ONNX's checker refuses the model: {}", e.what()));
  }
  return model.SerializeAsString();
}

void write_onnx(const Graph& graph, const std::filesystem::path& file, const OnnxOptions& options) {
  write_file_atomically(file, to_onnx(graph, options));
}

}  // namespace fib::engine
