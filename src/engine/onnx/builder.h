// SPDX-License-Identifier: Apache-2.0
// ONNX's messages, a line for each node.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "engine/onnx_node.h"

namespace fib::engine {

class OnnxBuilder final : public OnnxWriter {
 public:
  explicit OnnxBuilder(int64_t opset);

  /// Extents that count samples have the name "batch", or one of their own.
  void add_input(const OnnxName& name, const Shape& shape);
  void add_output(const OnnxName& name, const Shape& shape);
  /// The same tensor under another name.
  void alias(const OnnxName& from, const OnnxName& to);
  onnx::ModelProto& model() { return model_; }

  int64_t opset() const override { return opset_; }
  std::vector<OnnxName> node_with_outputs(const char* type, const std::vector<OnnxName>& inputs, size_t outputs,
                                          const std::vector<OnnxAttribute>& attributes) override;
  OnnxName floats(const std::vector<int64_t>& sizes, std::span<const float> numbers, const std::string& name) override;
  OnnxName integers(const std::vector<int64_t>& numbers) override;
  OnnxName indices(const std::vector<int64_t>& sizes, std::span<const int32_t> numbers,
                   const std::string& name) override;
  OnnxName signed_bytes(const std::vector<int64_t>& sizes, std::span<const int8_t> numbers,
                        const std::string& name) override;
  OnnxName booleans(const std::vector<int64_t>& sizes, std::span<const uint8_t> numbers,
                    const std::string& name) override;
  void require_room(int64_t bytes) const override;

 private:
  OnnxName constant(int type, const std::vector<int64_t>& sizes, std::span<const std::byte> bytes,
                    const std::string& name);

  int64_t opset_;
  onnx::ModelProto model_;
  onnx::GraphProto* graph_;
  std::multimap<std::tuple<int, std::vector<int64_t>, size_t>, int> known_;  // by type, sizes and hash of the bytes
  std::map<std::string, int> used_;
  int64_t bytes_ = 0;
};

}  // namespace fib::engine
