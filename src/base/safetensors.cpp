// SPDX-License-Identifier: Apache-2.0
#include "base/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "base/checked.h"
#include "base/float16.h"
#include "base/safetensors_header.h"
#include "base/text.h"

namespace fib {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are read and written as they lie in memory");

struct StoredType {
  TensorType type;
  std::string_view name;
  int64_t size;
};

constexpr std::array kTypes{StoredType{TensorType::f64, "F64", 8}, StoredType{TensorType::f32, "F32", 4},
                            StoredType{TensorType::f16, "F16", 2}, StoredType{TensorType::bf16, "BF16", 2},
                            StoredType{TensorType::i64, "I64", 8}, StoredType{TensorType::i32, "I32", 4},
                            StoredType{TensorType::i16, "I16", 2}, StoredType{TensorType::i8, "I8", 1},
                            StoredType{TensorType::u8, "U8", 1},   StoredType{TensorType::boolean, "BOOL", 1}};

[[noreturn]] void refuse(const std::string& name, const std::string& found) {
  throw std::runtime_error("cannot read '" + name + "': " + found);
}

/// The header's text; the tensors' bytes follow it.
std::string_view locate_header(std::span<const std::byte> file, const std::string& name) {
  uint64_t length = 0;
  if (file.size() < sizeof(length))
    refuse(name, "not a safetensors file, it has only " + std::to_string(file.size()) + " bytes");
  std::memcpy(&length, file.data(), sizeof(length));
  const std::string claim = "a header of " + std::to_string(length) + " bytes is announced, ";
  if (length > kMaxSafetensorsHeader)
    refuse(name, "not a safetensors file: " + claim + "accepted are up to " + std::to_string(kMaxSafetensorsHeader));
  if (length > file.size() - sizeof(length))
    refuse(name, "truncated or not a safetensors file: " + claim + "the file has " + std::to_string(file.size()));
  return {reinterpret_cast<const char*>(file.data()) + sizeof(length), static_cast<size_t>(length)};
}

void check_bytes(const TensorClaim& tensor, size_t available, const std::string& name) {
  const std::string where = "tensor " + in_quotes(tensor.name) + ": ";
  const std::string range = "[" + std::to_string(tensor.begin) + ", " + std::to_string(tensor.end) + ")";
  if (tensor.begin > tensor.end) refuse(name, where + "data_offsets " + range + " run backwards");
  if (tensor.end > available)
    refuse(name, where + "data_offsets " + range + " lie outside the " + std::to_string(available) + " bytes of data");
  const auto needed = checked_bytes(tensor.shape, tensor_type_size(tensor.type));
  if (!needed) refuse(name, where + "impossible shape " + shape_text(tensor.shape));
  if (static_cast<uint64_t>(*needed) != tensor.end - tensor.begin)
    refuse(name, where + std::string(tensor_type_name(tensor.type)) + " of shape " + shape_text(tensor.shape) +
                     " needs " + std::to_string(*needed) + " bytes, data_offsets " + range + " hold " +
                     std::to_string(tensor.end - tensor.begin));
}

/// Sorted by their bytes, each tensor must begin where the one before ended.
void check_layout(std::span<const TensorClaim> tensors, size_t available, const std::string& name) {
  uint64_t end = 0;
  for (const TensorClaim& tensor : tensors) {
    if (tensor.begin != end)
      refuse(name, "tensor " + in_quotes(tensor.name) + " begins at " + std::to_string(tensor.begin) +
                       (tensor.begin < end ? ", inside the one before, which ends at " : ", leaving a hole after ") +
                       std::to_string(end));
    end = tensor.end;
  }
  if (end != available)
    refuse(name,
           "the tensors end at byte " + std::to_string(end) + " of " + std::to_string(available) + " bytes of data");
}

template <class Stored, class T, class Widen>
void copy_as(std::span<const std::byte> bytes, std::span<T> destination, Widen widen) {
  for (size_t i = 0; i < destination.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    destination[i] = static_cast<T>(widen(stored));
  }
}

template <class T>
void copy_floating(const TensorView& tensor, std::span<T> destination) {
  if (tensor.elements() != static_cast<int64_t>(destination.size()))
    throw std::invalid_argument("tensor " + in_quotes(tensor.name) + " of shape " + shape_text(tensor.shape) + " has " +
                                std::to_string(tensor.elements()) + " values, room is for " +
                                std::to_string(destination.size()));
  const auto same = [](auto value) { return value; };
  switch (tensor.type) {
    case TensorType::f64:
      return copy_as<double>(tensor.bytes, destination, same);
    case TensorType::f32:
      return copy_as<float>(tensor.bytes, destination, same);
    case TensorType::f16:
      return copy_as<uint16_t>(tensor.bytes, destination, half_to_float);
    case TensorType::bf16:
      return copy_as<uint16_t>(tensor.bytes, destination, bfloat16_to_float);
    default:
      throw std::invalid_argument("tensor " + in_quotes(tensor.name) + " is " +
                                  std::string(tensor_type_name(tensor.type)) + ", accepted are F64, F32, F16 and BF16");
  }
}

}  // namespace

std::string_view tensor_type_name(TensorType type) { return kTypes.at(static_cast<size_t>(type)).name; }
int64_t tensor_type_size(TensorType type) { return kTypes.at(static_cast<size_t>(type)).size; }

std::optional<TensorType> tensor_type_from_name(std::string_view name) {
  const auto known = std::ranges::find(kTypes, name, &StoredType::name);
  return known == kTypes.end() ? std::nullopt : std::optional(known->type);
}

SafetensorsContent parse_safetensors(std::span<const std::byte> file, const std::string& name) {
  const std::string_view text = locate_header(file, name);
  const auto data = file.subspan(sizeof(uint64_t) + text.size());
  SafetensorsHeader header;
  try {
    header = parse_safetensors_header(text);
  } catch (const SafetensorsHeaderError& error) {
    refuse(name, std::string("malformed safetensors header, ") + error.what());
  }
  for (const TensorClaim& tensor : header.tensors) check_bytes(tensor, data.size(), name);
  std::ranges::stable_sort(header.tensors, {}, [](const TensorClaim& t) { return std::pair(t.begin, t.end); });
  check_layout(header.tensors, data.size(), name);
  SafetensorsContent content{{}, std::move(header.metadata)};
  for (TensorClaim& t : header.tensors)
    content.tensors.push_back({std::move(t.name), t.type, std::move(t.shape), data.subspan(t.begin, t.end - t.begin)});
  return content;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& file)
    : file_(file), content_(parse_safetensors(file_.bytes(), file.string())) {
  for (size_t i = 0; i < tensors().size(); ++i) index_.emplace(tensors()[i].name, i);
}

const TensorView* SafetensorsFile::find(const std::string& name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &content_.tensors[found->second];
}

void copy_values(const TensorView& tensor, std::span<float> destination) { copy_floating(tensor, destination); }
void copy_values(const TensorView& tensor, std::span<double> destination) { copy_floating(tensor, destination); }

}  // namespace fib
