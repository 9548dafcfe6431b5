// SPDX-License-Identifier: Apache-2.0
// The .fib file: a safetensors file whose metadata holds the steps, which any reader of that format lists. Read in
// place from a mapped file, as untrusted input: after reading, every step is known to stay inside its tensors and its
// arena.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/safetensors.h"
#include "engine/program.h"

namespace fib::engine {

/// What files written here carry; others are refused.
inline constexpr int64_t kFibFormat = 2;

/// Of the weights of linear layers and of what they meet, where the processor multiplies that; sums of bf16 are
/// float32.
enum class Precision { f32, bf16, int8 };
const char* name_of(Precision precision);
/// Throws std::invalid_argument for another word.
Precision precision_named(const std::string& name);

struct FibContent {
  Precision precision = Precision::f32;
  int64_t most_samples = 1;       ///< the largest batch
  std::vector<Program> programs;  ///< one for each size of sample
  TensorMetadata card;            ///< model, attention, preprocessing and labels; see models/card.h
};

/// Throws std::runtime_error with one line. `tensors` are those of the file.
FibContent read_fib_metadata(const TensorMetadata& metadata, std::span<const TensorView> tensors,
                             const std::string& name);

void write_fib(const std::filesystem::path& file, const FibContent& content, std::span<const TensorView> tensors);

}  // namespace fib::engine
