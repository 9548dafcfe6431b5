// SPDX-License-Identifier: Apache-2.0
#include "engine/onnx/builder.h"

#include <fmt/format.h>

#include <stdexcept>
#include <string_view>

namespace fib::engine {
namespace {

constexpr int64_t kIrVersion = 8;                   // of the year of opset 17
constexpr int64_t kMaxBytes = INT64_C(2130000000);  // protobuf ends at 2^31 - 1; the nodes need a little

void set_shape(onnx::ValueInfoProto& info, const OnnxName& name, const Shape& shape) {
  info.set_name(name);
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(onnx::TensorProto::FLOAT);
  for (const Dim& d : shape) {
    auto& dim = *tensor.mutable_shape()->add_dim();
    if (!d.batched) {
      dim.set_dim_value(d.count);
    } else {
      dim.set_dim_param(d.count == 1 ? "batch" : fmt::format("{}*batch", d.count));
    }
  }
}

void set_attribute(onnx::AttributeProto& out, const OnnxAttribute& attribute) {
  out.set_name(attribute.name);
  if (const auto* integer = std::get_if<int64_t>(&attribute.value)) {
    out.set_type(onnx::AttributeProto::INT);
    out.set_i(*integer);
  } else if (const auto* number = std::get_if<float>(&attribute.value)) {
    out.set_type(onnx::AttributeProto::FLOAT);
    out.set_f(*number);
  } else {
    out.set_type(onnx::AttributeProto::INTS);
    for (const int64_t i : std::get<std::vector<int64_t>>(attribute.value)) out.add_ints(i);
  }
}

}  // namespace

OnnxBuilder::OnnxBuilder(int64_t opset) : opset_(opset), graph_(model_.mutable_graph()) {
  model_.set_ir_version(kIrVersion);
  model_.set_producer_name("fibottention");
  auto& import = *model_.add_opset_import();
  import.set_domain("");
  import.set_version(opset);
  graph_->set_name("model");
}

void OnnxBuilder::add_input(const OnnxName& name, const Shape& shape) { set_shape(*graph_->add_input(), name, shape); }
void OnnxBuilder::add_output(const OnnxName& name, const Shape& shape) {
  set_shape(*graph_->add_output(), name, shape);
}

std::vector<OnnxName> OnnxBuilder::node_with_outputs(const char* type, const std::vector<OnnxName>& inputs,
                                                     size_t outputs, const std::vector<OnnxAttribute>& attributes) {
  auto& node = *graph_->add_node();
  node.set_op_type(type);
  node.set_name(fmt::format("{}_{}", type, used_[type]++));
  for (const OnnxName& input : inputs) node.add_input(input);
  for (const OnnxAttribute& attribute : attributes) set_attribute(*node.add_attribute(), attribute);
  std::vector<OnnxName> names;
  names.reserve(outputs);
  for (size_t i = 0; i < outputs; ++i) {
    names.push_back(fmt::format("{}:{}", node.name(), i));
    node.add_output(names.back());
  }
  return names;
}

void OnnxBuilder::alias(const OnnxName& from, const OnnxName& to) {
  auto& node = *graph_->add_node();
  node.set_op_type("Identity");
  node.set_name(to);
  node.add_input(from);
  node.add_output(to);
}

void OnnxBuilder::require_room(int64_t bytes) const {
  if (bytes <= kMaxBytes - bytes_) return;
  throw std::runtime_error(fmt::format("the model has more than {} bytes, and an ONNX file holds no more", kMaxBytes));
}

OnnxName OnnxBuilder::constant(int type, const std::vector<int64_t>& sizes, std::span<const std::byte> bytes,
                               const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto key = std::make_tuple(type, sizes, std::hash<std::string_view>()(text));
  const auto [begin, end] = known_.equal_range(key);
  for (auto known = begin; known != end; ++known) {
    const auto& held = graph_->initializer(known->second);
    if (held.raw_data() == text) return held.name();
  }
  require_room(static_cast<int64_t>(bytes.size()));
  bytes_ += static_cast<int64_t>(bytes.size());
  known_.emplace(key, graph_->initializer_size());
  auto& tensor = *graph_->add_initializer();
  const std::string wanted = name.empty() ? "constant" : name;
  const int times = used_[wanted]++;
  tensor.set_name(times == 0 && !name.empty() ? wanted : fmt::format("{}_{}", wanted, times));
  tensor.set_data_type(type);
  for (const int64_t size : sizes) tensor.add_dims(size);
  tensor.set_raw_data(bytes.data(), bytes.size());
  return tensor.name();
}

OnnxName OnnxBuilder::floats(const std::vector<int64_t>& sizes, std::span<const float> numbers,
                             const std::string& name) {
  return constant(onnx::TensorProto::FLOAT, sizes, std::as_bytes(numbers), name);
}

OnnxName OnnxBuilder::integers(const std::vector<int64_t>& numbers) {
  const std::span<const int64_t> view(numbers);
  return constant(onnx::TensorProto::INT64, {static_cast<int64_t>(numbers.size())}, std::as_bytes(view), "");
}

OnnxName OnnxBuilder::indices(const std::vector<int64_t>& sizes, std::span<const int32_t> numbers,
                              const std::string& name) {
  return constant(onnx::TensorProto::INT32, sizes, std::as_bytes(numbers), name);
}

OnnxName OnnxBuilder::signed_bytes(const std::vector<int64_t>& sizes, std::span<const int8_t> numbers,
                                   const std::string& name) {
  return constant(onnx::TensorProto::INT8, sizes, std::as_bytes(numbers), name);
}

OnnxName OnnxBuilder::booleans(const std::vector<int64_t>& sizes, std::span<const uint8_t> numbers,
                               const std::string& name) {
  return constant(onnx::TensorProto::BOOL, sizes, std::as_bytes(numbers), name);
}

}  // namespace fib::engine
