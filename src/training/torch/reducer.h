// SPDX-License-Identifier: Apache-2.0
// Sums gradients over processes while backward is still computing others.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <vector>

#include "training/torch/flat_parameters.h"
#include "training/torch/process_group.h"

namespace fib::training {

/// The flat gradients are divided into buckets, the last parameters first, as backward reaches them. A bucket travels
/// once all its parameters have their gradients and the bucket before it has left, so that all processes agree on the
/// order whatever their graphs look like.
class GradientReducer {
 public:
  GradientReducer(FlatParameters& parameters, ProcessGroup& group, int64_t bucket_elements = 1 << 20);
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  /// The next backward is the last one of the step.
  void arm();
  /// After it: gradients are sums over all processes. Parameters that got none count as zero.
  void finish();

  size_t buckets() const { return buckets_.size(); }

 private:
  struct Bucket {
    int64_t begin = 0, end = 0;
    int64_t parameters = 0;
    int64_t missing = 0;  ///< parameters whose gradient is not there yet
  };
  class Hook;
  struct Watched {
    std::shared_ptr<torch::autograd::Node> accumulator;
    uintptr_t hook = 0;
  };

  void divide(int64_t bucket_elements);
  void watch(const Segment& segment, size_t bucket);
  void on_gradient(size_t bucket);
  void send_next();

  FlatParameters& parameters_;
  ProcessGroup& group_;
  std::vector<Bucket> buckets_;
  std::vector<Watched> watched_;
  std::vector<std::unique_ptr<ProcessGroup::Pending>> sent_;
  bool armed_ = false;
};

}  // namespace fib::training
