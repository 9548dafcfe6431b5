// SPDX-License-Identifier: Apache-2.0
// Every model by name, without torch: a variant is a row of dimensions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attention/geometry.h"
#include "fibottention/pattern.h"

namespace fib::models {

/// Blocks of one width, on one grid of tokens.
struct Stage {
  int64_t dim = 0;
  int64_t depth = 0;
  int64_t heads = 1;
  std::string layout =
      {};  ///< where blocks differ (iFormer), a letter each: c convolution, p position, a attention, f FFN
};

struct Row {
  std::string name;  ///< timm's where timm has the model
  std::string kind;  ///< the backbone that reads the row: see kinds.h
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
};

/// In the order they are listed to people.
const std::vector<Row>& table();

/// Throws std::invalid_argument with the nearest name and the list for an unknown one.
const Row& find_row(const std::string& name);

/// Prefix of the parameters whose shape depends on the number of classes.
std::string classifier_of(const Row& row);

enum class Pool { token, mean };

/// What is left of a block after pruning.
struct BlockWidth {
  int64_t head_dim = 0;
  int64_t hidden = 0;
  friend bool operator==(const BlockWidth&, const BlockWidth&) = default;
};

/// What a caller chooses; the row gives the rest.
struct Options {
  AttentionSpec attention{"full", {}};
  std::optional<int64_t> resolution;  ///< of a square picture; the row's unless given
  std::optional<int64_t> width;       ///< where a picture is not square: resolution is its height, this its width
  std::optional<int64_t> patch;
  std::optional<int64_t> classes;
  int64_t channels = 3;                 ///< of a picture: 1 for grey ones
  std::vector<BlockWidth> widths = {};  ///< of a pruned ViT, one for each block; empty: the row's
  Pool pool = Pool::token;
  double dropout = 0.0;            ///< after the position embedding, the projections and inside the MLP
  double attention_dropout = 0.0;  ///< of attention weights
  double drop_path = 0.0;          ///< of the last block's residual branches; earlier ones grow linearly from 0
  bool initialise = true;          ///< false leaves parameters unset, for one who loads them all
};

/// A row with a caller's choices applied and checked: what a backbone is built from.
struct Dimensions {
  Row row;
  Options options;
  int64_t height = 224;
  int64_t width = 224;

  /// Patches of the picture, in the first block.
  attention::Grid grid() const { return {height / row.patch, width / row.patch}; }
  int64_t head_dim() const { return row.dim / row.heads; }
  int64_t hidden() const { return 4 * row.dim; }
  BlockWidth width_of(int64_t block) const {
    return options.widths.empty() ? BlockWidth{head_dim(), hidden()} : options.widths[static_cast<size_t>(block)];
  }
};

/// Throws std::invalid_argument naming the choice that does not fit.
Dimensions dimensions(const std::string& name, const Options& options = {});

/// The same model for pictures of another size.
Dimensions resized(const Dimensions& dims, int64_t height, int64_t width);

}  // namespace fib::models
