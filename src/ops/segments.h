// SPDX-License-Identifier: Apache-2.0
// A head's pairs as a few lists that tensor operations can walk: an offset is a pair of slices, a class token one row
// or one column, explicit pairs two index tensors.
#pragma once

#include "ops/support.h"

namespace fib::ops {

/// Tokens begin, begin + step, … (count of them; step is 0 or 1), or those an index tensor names.
struct TokenRange {
  int64_t begin = 0;
  int64_t count = 0;
  int64_t step = 1;
  at::Tensor index;  ///< int64 [count]; undefined for a range

  /// [B,G,T,…] -> [B,G,count,…], a view unless an index is given.
  at::Tensor take(const at::Tensor& x) const;
  /// acc [B,G,T,…] += value [B,G,count,…] at these tokens.
  void add_to(const at::Tensor& acc, const at::Tensor& value) const;
  /// acc [B,G,T] = max(acc, value [B,G,count]) at these tokens.
  void max_into(const at::Tensor& acc, const at::Tensor& value) const;
  /// The tokens as int64 [count].
  at::Tensor tokens(const at::Device& device) const;
};

/// count pairs: queries[i] meets keys[i].
struct Segment {
  TokenRange queries, keys;
  double score = 0.0;  ///< added to those of its pairs

  /// bias [G,H,Tq,Tk] -> [G,H,count].
  at::Tensor take_bias(const at::Tensor& bias) const;
};

/// Every pair of the head exactly once; summaries are keys behind all tokens.
std::vector<Segment> segments_of(const SupportSet& set, int64_t head, const at::Device& device);

}  // namespace fib::ops
