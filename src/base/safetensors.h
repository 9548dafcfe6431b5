// SPDX-License-Identifier: Apache-2.0
// safetensors: eight bytes of header length, a JSON header, raw little-endian tensors. Read in place from a mapped
// file, after every claim of the header has been checked against the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/read_file.h"

namespace fib {

/// The integer types are recognized because real files hold buffers of them; only the floating ones convert.
enum class TensorType { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };
/// As the format spells it: "F32".
std::string_view tensor_type_name(TensorType type);
int64_t tensor_type_size(TensorType type);

/// A tensor whose bytes live elsewhere, not necessarily aligned.
struct TensorView {
  std::string name;
  TensorType type = TensorType::f32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;

  int64_t elements() const { return static_cast<int64_t>(bytes.size()) / tensor_type_size(type); }
};

using TensorMetadata = std::map<std::string, std::string>;

/// The longest header accepted, as in the reference implementation.
inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;

struct SafetensorsContent {
  std::vector<TensorView> tensors;  ///< in the order of their bytes
  TensorMetadata metadata;
};

/// Checks a whole file's bytes: the header's length and syntax, no key twice, known types, bytes = type × shape, and
/// tensors that follow each other without overlap or hole to the file's end. Throws std::runtime_error with one line.
SafetensorsContent parse_safetensors(std::span<const std::byte> file, const std::string& name);

class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& file);

  const std::vector<TensorView>& tensors() const { return content_.tensors; }
  const TensorMetadata& metadata() const { return content_.metadata; }
  /// Null when there is no such tensor.
  const TensorView* find(const std::string& name) const;

 private:
  MappedFile file_;
  SafetensorsContent content_;
  std::unordered_map<std::string_view, size_t> index_;
};

/// Copies a floating tensor; F16 and BF16 are exact, F64 to float rounds. Throws std::invalid_argument for an integer
/// tensor or a destination of another length.
void copy_values(const TensorView& tensor, std::span<float> destination);
void copy_values(const TensorView& tensor, std::span<double> destination);

/// Writes atomically. Tensors are laid out by element size, then name, so that the same content gives the same file and
/// each tensor is aligned. Throws std::invalid_argument naming a tensor whose bytes do not fit its shape, or a name
/// given twice.
void write_safetensors(const std::filesystem::path& file, std::span<const TensorView> tensors,
                       const TensorMetadata& metadata = {});

}  // namespace fib
