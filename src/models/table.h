// SPDX-License-Identifier: Apache-2.0
// Every model by name, without torch: a variant is a row of dimensions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attention/geometry.h"
#include "fibottention/pattern.h"
#include "models/token_reduction.h"

namespace fib::models {

/// Blocks of one width, on one grid of tokens.
struct Stage {
  int64_t dim = 0;
  int64_t depth = 0;
  int64_t heads = 1;
  std::string layout =
      {};  ///< where blocks differ (iFormer), a letter each: c convolution, p position, a attention, f FFN
};

/// How values in [0, 1] become a model's input: (x - mean) / std, by color channel.
struct Normalization {
  std::array<float, 3> mean{}, std{};
};
inline constexpr Normalization kImageNetNormalization{{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}};
/// Of the ViT weights that timm has.
inline constexpr Normalization kHalfNormalization{{0.5f, 0.5f, 0.5f}, {0.5f, 0.5f, 0.5f}};
/// Of models for clips.
inline constexpr Normalization kClipNormalization{{0.45f, 0.45f, 0.45f}, {0.225f, 0.225f, 0.225f}};

struct Kind;

/// What a row is for. Tables for people show the groups in this order.
enum class ModelGroup {
  published,  ///< as their authors made them
  small,      ///< for images of 28 pixels: in patches of 2 they are the paper's 14 x 14 tokens
  test,       ///< milliseconds
};

struct ModelRow {
  std::string name;  ///< timm's where timm has the model
  int64_t resolution = 224;
  int64_t patch = 16;  ///< pixels of a token's side in the first block
  int64_t dim = 768;   ///< of the first block
  int64_t depth = 12;  ///< blocks
  int64_t heads = 12;  ///< of the first block that has any
  int64_t classes = 1000;
  std::vector<Stage> stages = {};  ///< where the grid shrinks on the way; empty: one width throughout
  int64_t replaced = 0;            ///< stages, from the first, whose attention is the one asked for; others are dense
  int64_t window = 0;              ///< Swin: tokens of a window's side
  int64_t local_blocks = 0;        ///< ConViT: blocks, from the first, with gated positional attention
  int64_t conv_ratio = 4;          ///< iFormer: hidden channels of a convolution block
  int64_t ffn_ratio = 4;           ///< iFormer: hidden channels of an FFN
  int64_t frames = 0;              ///< of a clip; 0: the model takes images
  double crop_ratio = 0.9;         ///< of the published weights: side of the crop over the shorter side it is cut from
  Normalization normalization = kImageNetNormalization;  ///< of the published weights
  ModelGroup group = ModelGroup::published;
  const Kind* kind = nullptr;  ///< the backbone that the row describes: see kinds.h
};

/// In the order they are listed to people.
const std::vector<ModelRow>& table();

/// Throws std::invalid_argument with the nearest name and the list for an unknown one.
const ModelRow& find_row(const std::string& name);

enum class Pool { token, mean };

/// Which attention of a model for clips is the one asked for: within a frame, of a place over time, both of them, or,
/// instead of the two, one over all places of all frames.
enum class AttentionIn { spatial, temporal, both, joint };
/// In the order of the values.
const std::vector<std::string>& attention_in_names();
std::string to_string(AttentionIn where);
/// Throws std::invalid_argument for another word.
AttentionIn attention_in_of(const std::string& word);

/// Layers by number, as a person writes them: "0-5,9". In ascending order and without repeats; no text is no layers.
/// Throws std::invalid_argument for other texts.
std::vector<int64_t> parse_layers(const std::string& text);
/// The same the other way, with ranges where layers follow each other.
std::string layers_text(const std::vector<int64_t>& layers);

/// What is left of a block after pruning.
struct BlockWidth {
  int64_t head_dim = 0;
  int64_t hidden = 0;
  friend bool operator==(const BlockWidth&, const BlockWidth&) = default;
};

/// What a caller chooses; the row gives the rest.
struct Options {
  AttentionSpec attention{"full", {}};
  std::optional<int64_t> resolution;  ///< of a square image; the row's unless given
  std::optional<int64_t> width;       ///< where an image is not square: resolution is its height, this its width
  std::optional<int64_t> patch;
  std::optional<int64_t> classes;
  int64_t channels = 3;                ///< of an image: 1 for grey ones
  std::optional<int64_t> frames = {};  ///< of a clip; the row's unless given
  AttentionIn attention_in = AttentionIn::spatial;
  /// Those that take the attention asked for, by Geometry::layer, the others are dense; empty: all that can.
  std::vector<int64_t> attention_layers = {};
  TokenReduction tokens = {};           ///< fewer of them from block to block
  std::vector<BlockWidth> widths = {};  ///< of a pruned model, one for each block; empty: the row's
  Pool pool = Pool::token;
  double dropout = 0.0;            ///< after the position embedding, the projections and inside the MLP
  double attention_dropout = 0.0;  ///< of attention weights
  double drop_path = 0.0;          ///< of the last block's residual branches; earlier ones grow linearly from 0
  bool initialize = true;          ///< false leaves parameters unset, for one who loads them all
};

/// A row with a caller's choices applied and checked: what a backbone is built from.
struct Dimensions {
  ModelRow row;
  Options options;
  int64_t height = 224;
  int64_t width = 224;

  /// A clip has frames, an image is one.
  bool takes_clips() const { return row.frames > 0; }
  int64_t frames() const { return options.frames.value_or(row.frames); }
  /// Of what the model takes: [C,h,w], or [C,T,h,w] of clips.
  std::vector<int64_t> sample_shape() const;
  /// Patches of the image, or of a frame, in the first block.
  attention::Grid grid() const { return {height / row.patch, width / row.patch}; }
  int64_t head_dim() const { return row.dim / row.heads; }
  int64_t hidden() const { return 4 * row.dim; }
  BlockWidth width_of(int64_t block) const {
    return options.widths.empty() ? BlockWidth{head_dim(), hidden()} : options.widths[static_cast<size_t>(block)];
  }
};

/// Throws std::invalid_argument naming the choice that does not fit.
Dimensions dimensions(const std::string& name, const Options& options = {});

/// The same model for images of another size.
Dimensions resized(const Dimensions& dims, int64_t height, int64_t width);

}  // namespace fib::models
