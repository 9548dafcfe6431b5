// SPDX-License-Identifier: Apache-2.0
// The kernels' dropout (kernels/dropout.h) in ATen's integers, so that a seed drops the same pairs on every path.
#pragma once

#include "ops/segments.h"

namespace fib::ops {

class CompositeDropout {
 public:
  /// For the given heads of a batch.
  CompositeDropout(double probability, int64_t seed, int64_t batch, const std::vector<int64_t>& heads,
                   const at::Device& device);

  /// [B,G,count] of 0 and 1/(1-p), for the pairs of a segment.
  at::Tensor factors(const Segment& segment, at::ScalarType type) const;

 private:
  double probability_;
  at::Tensor query_key_, key_key_;  // int64 [B,G,1]
};

}  // namespace fib::ops
