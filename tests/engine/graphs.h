// SPDX-License-Identifier: Apache-2.0
// Small graphs.
#pragma once

#include <string>

#include "engine/graph.h"

namespace fib::test {

struct TransformerWidth {
  int64_t dim = 24, hidden = 1024;
};
/// A vision transformer of one block: images [3,16,16] in patches of 4, a class token, 2 heads, 10 classes.
engine::Graph transformer(const std::string& attention, const TransformerWidth& width = {});

/// Convolutions of all kinds, pool, gate, roll, softmax, matmul and concatenation on images [3,12,12]; 7 classes.
engine::Graph convolutional();

/// The MLP of a block on images [3,side,side], each pixel a token: its mean and a classifier of 5 classes.
engine::Graph mlp(int64_t side);

/// A convolution over the frames of clips [3,2,8,8], and their mean; 3 classes.
engine::Graph of_clips();

struct DecoderShape {
  bool rotary = false, everything = false;
  int64_t rows = 48;  ///< of the caches
};
/// One block over the next `tokens` of a sequence, 19 symbols: the logits of the last one.
engine::Graph decoder(int64_t tokens, const DecoderShape& shape = {});

/// A small policy: two observed numbers at two times, noise [3,8,2] and three steps of a sampler whose network has
/// convolutions over time, group norm, Mish and films; actions [4,2].
engine::Graph sampler();

}  // namespace fib::test
