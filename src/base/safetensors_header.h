// SPDX-License-Identifier: Apache-2.0
// The JSON of a safetensors header, read as a stream: a 100 MB header never becomes a tree.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/safetensors.h"

namespace fib {

/// What is wrong with the text; the caller knows the file and says so.
struct SafetensorsHeaderError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One tensor as the header claims it, complete but not yet compared with the file.
struct TensorClaim {
  std::string name;
  TensorType type = TensorType::f32;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;
};

struct SafetensorsHeader {
  std::vector<TensorClaim> tensors;
  TensorMetadata metadata;
};

/// The inverse of tensor_type_name.
std::optional<TensorType> tensor_type_from_name(std::string_view name);

SafetensorsHeader parse_safetensors_header(std::string_view json);

}  // namespace fib
