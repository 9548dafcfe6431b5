// SPDX-License-Identifier: Apache-2.0
// What the benchmarks can be asked for; needs no torch, so that a command line can be read without it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/timing.h"
#include "fibottention/pattern.h"

namespace fib::bench {

struct AttentionBenchOptions {
  AttentionSpec attention{"fibottention", {}};
  std::vector<int64_t> tokens = {196, 784, 4096};  ///< patch tokens
  int64_t batch = 1, heads = 12, dim = 64, cls = 1;
  bool backward = false;
  TimingOptions timing;
};

enum class ModelPass { forward, training };

struct ModelBenchOptions {
  std::string model = "vit_base_patch16_224";
  std::vector<int64_t> resolutions;       ///< the model's own when empty
  std::vector<AttentionSpec> attentions;  ///< compared with full, which always runs
  std::vector<ModelPass> passes = {ModelPass::forward};
  int64_t batch = 4;
  bool profile = false;                   ///< where the time of a training step goes, too
  TimingOptions timing{.seconds = 10.0};  ///< of one resolution and pass
};

}  // namespace fib::bench
