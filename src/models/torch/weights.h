// SPDX-License-Identifier: Apache-2.0
// Parameters by name from and to safetensors files with timm's key names.
#pragma once

#include <torch/torch.h>

#include <filesystem>
#include <optional>
#include <string>

#include "base/safetensors.h"
#include "models/torch/model.h"

namespace fib::models {

/// What became of a file's tensors.
struct LoadReport {
  int64_t tensors = 0, taken = 0;  ///< in the file, and those of them that the model has now
  int64_t stored_classes = 0;      ///< 0: the file has no classifier
  bool new_classifier = false;     ///< the model's keeps its initialization
};

struct LoadOptions {
  /// A classifier of another size keeps its initialisation instead of being refused.
  bool new_classifier = false;
  /// What make_with_weights makes the model of: float, unless computing in double is wanted with all of a file's
  /// digits.
  at::ScalarType type = at::kFloat;
  LoadReport* report = nullptr;  ///< filled where it is given
};

/// Whether a buffer follows from the model's dimensions, or counts steps: stored ones are accepted, and not needed.
bool is_constructed(const std::string& name);

/// Fills all parameters and buffers, converting types and position embeddings. Throws std::runtime_error with one line
/// that lists missing, unexpected and misshapen tensors by name; the model is unchanged then.
void load_weights(Model& model, const SafetensorsFile& file, const LoadOptions& options = {});
void load_weights(Model& model, const std::filesystem::path& file, const LoadOptions& options = {});

/// What pruning has left in the blocks of a ViT; empty where all have the row's widths.
std::vector<BlockWidth> stored_widths(const SafetensorsFile& file, const ModelRow& row);

/// Channels of the images that the weights take; 0 where the file does not have the parameter that tells it.
int64_t stored_channels(const SafetensorsFile& file, const ModelRow& row);

/// Frames of the clips that the weights were made for; none where they are of images.
std::optional<int64_t> stored_frames(const SafetensorsFile& file);

/// A model as the file describes it: the number of classes comes from the weights unless `options` gives one, and so do
/// the widths of a pruned model.
ModelPtr make_with_weights(const std::string& name, const std::filesystem::path& file, Options options = {},
                           const LoadOptions& load = {});

/// Writes all parameters and buffers, atomically, in their own types.
void save_weights(const torch::nn::Module& module, const std::filesystem::path& file,
                  const TensorMetadata& metadata = {{"format", "pt"}});

}  // namespace fib::models
