// SPDX-License-Identifier: Apache-2.0
// Offsets that were measured on a dense model and not made by a rule: which of them keep most of a head's attention,
// and the small text file that holds them, one line for each head of each layer:
//   fibottention-offsets 1 PATCHES LAYERS HEADS
//   LAYER HEAD DISTANCE DISTANCE …
//   LAYER as ATTENTION               instead of the lines of its heads; full is dense attention
// PATCHES and HEADS bind the layers that have lines of heads alone.
//
// N patch tokens; a distance is |j - k| of two of them, from 0, a patch itself, to N - 1.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "fibottention/pattern.h"

namespace fib {

/// Ascending distances.
using Distances = std::vector<int64_t>;

struct MeasuredOffsets {
  int64_t patches = 0;
  size_t heads = 0;
  struct Layer {
    std::vector<Distances> heads;
    std::string attention;  ///< NAME:key=value,… of another mechanism; then there are no heads
    friend bool operator==(const Layer&, const Layer&) = default;
  };
  std::vector<Layer> layers;

  friend bool operator==(const MeasuredOffsets&, const MeasuredOffsets&) = default;
};

std::string to_text(const MeasuredOffsets& offsets);
/// Throws std::runtime_error with the file and the line for what is none.
MeasuredOffsets read_measured_offsets(const std::filesystem::path& file);

/// What an attention is in a layer: that which its file names there, else itself.
AttentionSpec in_layer(const AttentionSpec& attention, int64_t layer);

/// Pairs of patches at a distance, both directions counted.
int64_t pairs_at_distance(int64_t distance, int64_t patches);
int64_t pairs_of(const Distances& distances, int64_t patches);

// ---- What keeps most of the attention -------------------------------------------------------------------------------
// `attention` has a head's attention at each distance [N], summed over the pairs of patches at it. No result has more
// than `pairs` pairs.

/// The attention that the distances keep.
double kept(std::span<const double> attention, const Distances& distances);

/// Those with the most attention for each of their pairs.
Distances free_offsets(std::span<const double> attention, int64_t pairs);

/// All up to a window, itself included.
Distances window_offsets(std::span<const double> attention, int64_t pairs);

/// Row i of the Wythoff array for each head of a layer, no row twice: of all ways to give the first rows to the heads
/// one that keeps the most in all. `heads` are the heads' attention.
std::vector<Distances> array_offsets(std::span<const std::vector<double>> heads, int64_t pairs);

/// For each of n workers a job of its own, so that the sum of value[worker][job] is the largest.
std::vector<size_t> best_assignment(const std::vector<std::vector<double>>& value);

}  // namespace fib
