// SPDX-License-Identifier: Apache-2.0
// What differs between kinds of backbones, without torch: their rows, where attention layers stand, what all of it
// costs. A kind is a file here, a file in torch/ that builds it, and a line in each of the two tables: kKinds here and
// kBuilders in torch/model.h.
#pragma once

#include <string>
#include <vector>

#include "models/cost.h"

namespace fib::models {

struct Kind {
  const char* name;
  const char* classifier;  ///< prefix of the parameters whose shape depends on the number of classes
  const char* stem;        ///< the weights [D,C,p,p] that meet the image: their second dimension is its channels
  bool prunable;           ///< whether blocks can have other widths than the row's
  std::vector<ModelRow> (*rows)();
  /// Throws std::invalid_argument where an image's size does not fit; null: any does.
  void (*check)(const Dimensions& dims);
  /// All that are built with a mechanism, in order of depth.
  std::vector<AttentionLayer> (*layers)(const Dimensions& dims);
  Cost (*cost)(const Dimensions& dims);
  bool compiles = true;         ///< whether fib compile takes it; checked by a test of the engine
  bool reduces_tokens = false;  ///< whether tokens may become fewer from block to block
};

/// Each in the file of its kind.
extern const Kind kVit, kConvit, kSwin, kIformer, kCvt, kMvit, kTimesformer;

/// In the order they are listed to people.
inline constexpr const Kind* kKinds[] = {&kVit, &kConvit, &kSwin, &kIformer, &kCvt, &kMvit, &kTimesformer};

// ---- What kinds share: rows -----------------------------------------------------------------------------------------

/// A row whose grid shrinks from stage to stage, all of them with the attention asked for.
ModelRow staged_row(const char* name, int64_t resolution, int64_t patch, std::vector<Stage> stages,
                    int64_t classes = 1000);

/// Rows for small images or for tests: nothing is cut from so little.
ModelRow in_group(ModelGroup group, ModelRow row);

// ---- Checks and layers ----------------------------------------------------------------------------------------------

/// A check for backbones whose first convolutions fix the size of a patch.
void refuse_other_patches(const Dimensions& dims);

struct LayerPlace {
  int64_t dim = 0;
  int64_t heads = 1;
  int64_t cls = 0;
  attention::Grid grid;
  int64_t layer = 0;  ///< counted over all blocks
};

/// A layer in which the same tokens ask and are asked, heads sharing the width among them. Its attention is the one
/// asked for where the model takes it there (`replaceable`) and the caller has not chosen other layers; elsewhere dense
/// attention, in the form that was asked for if it was dense.
AttentionLayer square_layer(const Dimensions& dims, bool replaceable, const LayerPlace& place);

/// Tokens, class tokens included, that enter each block of a kind whose tokens may become fewer and, last, leave the
/// last one.
std::vector<int64_t> tokens_by_block(const Dimensions& dims);

/// ConViT: the content part of gated positional attention, always dense and no part of attention_layers().
AttentionLayer convit_local_layer(const Dimensions& dims);

/// Tokens of a grid in every second row and column, where what is left over counts.
attention::Grid halved(const attention::Grid& grid);

// ---- Costs ----------------------------------------------------------------------------------------------------------

struct LinearShape {
  int64_t from = 0;
  int64_t to = 0;
  bool bias = true;
};

struct ConvShape {
  int64_t from = 0;
  int64_t to = 0;
  int64_t kernel = 1;
  bool depthwise = false;
  bool bias = false;
};

/// Adds up what a backbone consists of.
class CostCounter {
 public:
  using Part = double Cost::*;

  explicit CostCounter(int64_t tokens) { total_.tokens = tokens; }

  void parameters(int64_t count) { total_.parameters += count; }
  /// Weights and biases of a norm: of a layer or of a batch.
  void norm(int64_t dim) { parameters(2 * dim); }
  void linear(Part part, int64_t tokens, const LinearShape& shape);
  void conv(Part part, int64_t outputs, const ConvShape& shape);
  /// Scores, values and what the mechanism learns itself.
  void attention(const AttentionLayer& layer);
  /// A layer with qkv from one linear map, and its projection.
  void self_attention(const AttentionLayer& layer, int64_t dim, bool qkv_bias = true);
  /// The same where so many tokens go through the linear maps.
  void self_attention(const AttentionLayer& layer, int64_t dim, int64_t tokens, bool qkv_bias);
  void mlp(int64_t tokens, int64_t dim, int64_t hidden);
  void head(int64_t dim, int64_t classes) { linear(&Cost::head, 1, {dim, classes}); }
  void macs(Part part, double count) { total_.*part += count; }

  Cost total() const;

 private:
  /// Of one sample. Layers that differ in nothing but their number cost the same, and are counted once: supports with
  /// many random pairs take long to draw.
  const attention::Cost& cost_of(const AttentionLayer& layer);

  struct Known {
    std::string attention;
    attention::Geometry geometry;
    attention::Cost cost;
  };
  Cost total_;
  std::vector<Known> known_;
  double pruned_ = 0, pruned_macs_ = 0, dense_macs_ = 0;
  int64_t replaced_ = 0;
};

}  // namespace fib::models
