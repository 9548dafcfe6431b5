// SPDX-License-Identifier: Apache-2.0
// Which images make up a step: a function of (seed, epoch, step) alone, so that a run can stop, resume or change its
// number of ranks and still see the same batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fib {

struct SamplerOptions {
  size_t batch = 64;           ///< over all ranks together
  size_t rank = 0, world = 1;  ///< world divides batch
  uint64_t seed = 0;
  bool shuffle = true;    ///< off: every epoch in the dataset's order
  bool drop_last = true;  ///< leave out the incomplete batch at the end of an epoch
  size_t repeats = 1;     ///< of each image, one after the other; an epoch is as long, and sees as many fewer images
};

class Sampler {
 public:
  /// Throws std::invalid_argument where the numbers do not fit together or an epoch would have no step.
  Sampler(size_t dataset_size, const SamplerOptions& options);

  size_t steps_per_epoch() const { return steps_; }
  const SamplerOptions& options() const { return options_; }

  /// The order of a whole epoch: global batch s is the s-th run of `batch` elements.
  std::vector<size_t> order(uint64_t epoch) const;
  /// This rank's part of a global batch: every world-th element, from `rank`.
  std::vector<size_t> part(const std::vector<size_t>& order, size_t step) const;
  /// Which repetition of its image, from 0, stands at `slot` of this rank's part.
  size_t repetition(size_t step, size_t slot) const {
    return (step * options_.batch + options_.rank + slot * options_.world) % options_.repeats;
  }

 private:
  size_t size_;
  SamplerOptions options_;
  size_t steps_;
};

}  // namespace fib
