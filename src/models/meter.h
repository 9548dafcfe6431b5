// SPDX-License-Identifier: Apache-2.0
// Adds up what a backbone consists of.
#pragma once

#include "models/cost.h"

namespace fib::models {

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

class Meter {
 public:
  using Part = double Cost::*;

  explicit Meter(int64_t tokens) { total_.tokens = tokens; }

  void parameters(int64_t count) { total_.parameters += count; }
  /// Weights and biases of a norm: of a layer or of a batch.
  void norm(int64_t dim) { parameters(2 * dim); }
  void linear(Part part, int64_t tokens, const LinearShape& shape);
  void conv(Part part, int64_t outputs, const ConvShape& shape);
  /// Scores, values and what the mechanism learns itself.
  void attention(const AttentionLayer& layer);
  /// A layer with qkv from one linear map, and its projection.
  void self_attention(const AttentionLayer& layer, int64_t dim, bool qkv_bias = true);
  void mlp(int64_t tokens, int64_t dim, int64_t hidden);
  void head(int64_t dim, int64_t classes) { linear(&Cost::head, 1, {dim, classes}); }
  void macs(Part part, double count) { total_.*part += count; }

  Cost total() const;

 private:
  Cost total_;
  double pruned_ = 0;
  int64_t replaced_ = 0;
};

}  // namespace fib::models
