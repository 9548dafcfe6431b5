// SPDX-License-Identifier: Apache-2.0
// What weights need besides their numbers: which model they are of, how an image becomes its input, and what its
// outputs mean. Weights that we write carry it in the metadata of their file, so that no command has to guess.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/safetensors.h"
#include "models/table.h"

namespace fib::models {

/// Empty, or zero: unset.
struct ModelCard {
  std::string model;
  std::string attention;
  int64_t resolution = 0;  ///< side of the square input
  int64_t patch = 0;
  std::string pool;                      ///< "token" or "mean"
  int64_t channels = 0;                  ///< of an image: 1 for grey ones
  std::vector<float> mean, std;          ///< one per channel, of values in [0, 1]
  double crop_ratio = 0;                 ///< side of the crop over the shorter side it is cut from
  int64_t crops = 0;                     ///< along the longer side, whose scores are averaged
  int64_t frames = 0;                    ///< of a clip
  int64_t sampling_rate = 0;             ///< from one of them to the next, in thirtieths of a second
  std::string attention_in;              ///< a word of attention_in_names()
  std::string attention_layers;          ///< that have the attention, as layers_text() writes them; empty: all
  std::string tokens;                    ///< how they become fewer, as TokenReduction::to_string writes it
  std::vector<std::string> class_names;  ///< in the order of the outputs

  friend bool operator==(const ModelCard&, const ModelCard&) = default;
};

/// As the metadata of a file tells it. `file` is for messages. Throws std::runtime_error for a value that cannot be.
ModelCard read_card(const TensorMetadata& metadata, const std::string& file);

/// What is not told is left out.
TensorMetadata to_metadata(const ModelCard& card);

/// The first card, with what it does not tell taken from the second.
ModelCard completed(ModelCard card, const ModelCard& from);

/// How the published weights of a model see an image of `channels` channels.
ModelCard published_card(const ModelRow& row, int64_t channels = 3);

/// Models that weights which do not say theirs may be of: those whose first and last widths, patches and number of
/// blocks are the file's.
std::vector<std::string> models_shaped_like(const SafetensorsFile& weights);

/// The choices that a card makes; the others have their defaults.
Options options_of(const ModelCard& card);

}  // namespace fib::models
