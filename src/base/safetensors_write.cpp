// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <tuple>

#include "base/atomic_file.h"
#include "base/checked.h"
#include "base/safetensors.h"
#include "base/text.h"

namespace fib {
namespace {

std::vector<const TensorView*> layout(std::span<const TensorView> tensors) {
  std::vector<const TensorView*> order;
  for (const TensorView& tensor : tensors) order.push_back(&tensor);
  std::ranges::sort(
      order, {}, [](const TensorView* t) { return std::tuple(-tensor_type_size(t->type), std::string_view(t->name)); });
  return order;
}

void check(const TensorView& tensor) {
  const auto needed = checked_bytes(tensor.shape, tensor_type_size(tensor.type));
  if (tensor.name == "__metadata__") throw std::invalid_argument("no tensor can be called '__metadata__'");
  if (!needed || static_cast<uint64_t>(*needed) != tensor.bytes.size())
    throw std::invalid_argument("tensor " + in_quotes(tensor.name) + ": " + std::to_string(tensor.bytes.size()) +
                                " bytes do not fill " + std::string(tensor_type_name(tensor.type)) + " of shape " +
                                shape_text(tensor.shape));
}

std::string dump(const nlohmann::ordered_json& header) try {
  return header.dump();
} catch (const nlohmann::json::exception&) {
  throw std::invalid_argument("a tensor's name or the metadata is not UTF-8, which safetensors demands");
}

/// A cache line: vectors are then read from a mapped file as fast as from memory.
constexpr size_t kDataAlignment = 64;

/// Keys stand in the order of the bytes. Spaces fill it up so that the data is aligned.
std::string header_text(const std::vector<const TensorView*>& tensors, const TensorMetadata& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t begin = 0;
  for (const TensorView* tensor : tensors) {
    const uint64_t end = begin + tensor->bytes.size();
    header[tensor->name] = {
        {"dtype", tensor_type_name(tensor->type)}, {"shape", tensor->shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = dump(header);
  text.append((kDataAlignment - (sizeof(uint64_t) + text.size()) % kDataAlignment) % kDataAlignment, ' ');
  return text;
}

void check_unique(std::span<const TensorView> tensors) {
  std::vector<std::string_view> names;
  for (const TensorView& tensor : tensors) names.push_back(tensor.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end()) throw std::invalid_argument("tensor " + in_quotes(*twice) + " given twice");
}

}  // namespace

void write_safetensors(const std::filesystem::path& file, std::span<const TensorView> tensors,
                       const TensorMetadata& metadata) {
  for (const TensorView& tensor : tensors) check(tensor);
  check_unique(tensors);
  const auto order = layout(tensors);
  const std::string header = header_text(order, metadata);
  const uint64_t length = header.size();
  if (length > kMaxSafetensorsHeader)
    throw std::invalid_argument("a safetensors header of " + std::to_string(length) + " bytes, accepted are up to " +
                                std::to_string(kMaxSafetensorsHeader));
  AtomicFile target(file);
  target.write(&length, sizeof(length));
  target.write(header.data(), header.size());
  for (const TensorView* tensor : order) target.write(tensor->bytes.data(), tensor->bytes.size());
  target.commit();
}

}  // namespace fib
