// SPDX-License-Identifier: Apache-2.0
// Decoders by name, without torch: causal transformers over a sequence, of which every token looks back. A variant is a
// row of dimensions; names and numbers are those of GPT-2 and nanoGPT. They take tokens and give a logit for each
// symbol at each of them, so no command for images takes one.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sequences/causal.h"

namespace fib::sequences {

/// How a token knows its place. learned: an embedding of each place of the context, which ends there. rotary: queries
/// and keys are turned by angles that grow with the place, so that scores know distances and any length will do.
enum class Positions { learned, rotary };

struct DecoderRow {
  std::string name;
  int64_t layers = 4;
  int64_t heads = 4;
  int64_t width = 128;
  int64_t context = 64;  ///< tokens that a sample of training has
  Positions positions = Positions::learned;
};

/// In the order they are listed to people: each with learned positions, and as NAME_rotary.
const std::vector<DecoderRow>& decoders();
/// Throws std::invalid_argument with the nearest name and the list for an unknown one.
const DecoderRow& find_decoder(const std::string& name);

inline constexpr double kRotaryBase = 10000;
inline constexpr double kNormEps = 1e-5;  ///< of layer norms

struct DecoderOptions {
  AttentionSpec attention{"full", {}};
  std::optional<int64_t> context = {};  ///< the row's unless given
  double dropout = 0;                   ///< after the embedding, the projections and in the MLP
};

/// A row with a caller's choices applied and checked: what a decoder is built from.
struct DecoderDimensions {
  DecoderRow row;  ///< with the context that was chosen
  DecoderOptions options;
  std::vector<CausalLayer> layers;

  int64_t head_dim() const { return row.width / row.heads; }
  /// What scores of queries and keys are multiplied by.
  double score_scale() const { return 1 / std::sqrt(static_cast<double>(head_dim())); }
  /// Of what causal layers could form, the mean of all layers.
  double pruning_ratio() const;
};

/// Throws std::invalid_argument naming the choice that does not fit.
DecoderDimensions decoder_dimensions(const std::string& name, const DecoderOptions& options = {});

/// Of all weights: with embeddings of `symbols` symbols, which the classifier shares.
int64_t decoder_parameters(const DecoderDimensions& dims, int64_t symbols);

}  // namespace fib::sequences
