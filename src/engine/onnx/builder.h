// SPDX-License-Identifier: Apache-2.0
// ONNX's messages, a line for each node.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "engine/graph.h"

namespace fib::engine {

/// Of a tensor in the ONNX graph.
using Name = std::string;

struct OnnxAttribute {
  const char* name;
  std::variant<int64_t, float, std::vector<int64_t>> value;
};

class OnnxBuilder {
 public:
  explicit OnnxBuilder(int64_t opset);

  /// Extents that count samples have the name "batch", or one of their own.
  void add_input(const Name& name, const Shape& shape);
  void add_output(const Name& name, const Shape& shape);

  /// The output of a new node.
  Name node(const char* type, const std::vector<Name>& inputs, const std::vector<OnnxAttribute>& attributes = {});
  std::vector<Name> node_with_outputs(const char* type, const std::vector<Name>& inputs, size_t outputs,
                                      const std::vector<OnnxAttribute>& attributes = {});
  /// The same tensor under another name.
  void alias(const Name& from, const Name& to);

  /// Constants; equal ones are held once.
  Name floats(const std::vector<int64_t>& sizes, std::span<const float> numbers, const std::string& name = "");
  Name scalar(float number) { return floats({}, {&number, 1}); }
  Name integers(const std::vector<int64_t>& numbers);
  Name index(int32_t number) { return indices({}, {&number, 1}); }
  Name indices(const std::vector<int64_t>& sizes, std::span<const int32_t> numbers, const std::string& name = "");
  Name booleans(const std::vector<int64_t>& sizes, std::span<const uint8_t> numbers, const std::string& name);

  /// Throws where constants of so many more bytes make a file that ONNX cannot hold; asked before they are made.
  void require_room(int64_t bytes) const;

  int64_t opset() const { return opset_; }
  onnx::ModelProto& model() { return model_; }

 private:
  Name constant(int type, const std::vector<int64_t>& sizes, std::span<const std::byte> bytes, const std::string& name);

  int64_t opset_;
  onnx::ModelProto model_;
  onnx::GraphProto* graph_;
  std::multimap<std::tuple<int, std::vector<int64_t>, size_t>, int> known_;  // by type, sizes and hash of the bytes
  std::map<std::string, int> used_;
  int64_t bytes_ = 0;
};

}  // namespace fib::engine
