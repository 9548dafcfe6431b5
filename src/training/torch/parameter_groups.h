// SPDX-License-Identifier: Apache-2.0
// Which parameters decay, and by what factor each one's learning rate differs from the schedule's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "training/torch/flat_parameters.h"

namespace fib::training {

/// A range of the flat memory that the optimizer treats alike.
struct Group {
  int64_t begin = 0;
  int64_t end = 0;
  double lr_scale = 1;
  double weight_decay = 0;
};

struct GroupOptions {
  double weight_decay = 0.05;
  bool decay_all = false;              ///< else by timm's rule, which is decays()
  double layer_decay = 1;              ///< 1: every layer learns at the same rate
  std::vector<int64_t> stages = {12};  ///< blocks of each of the model's stages
};

/// Biases, norms, class and distillation tokens, position embeddings and tables of position biases have no decay.
bool decays(const std::string& name, int64_t dimensions);

/// 0 for embeddings, i + 1 for block i counted over all stages, depth + 1 for what follows the blocks. What stands
/// between two stages goes with the block beside it.
int64_t layer_of(const std::string& name, const std::vector<int64_t>& stages);

/// The embeddings and the first `blocks` blocks keep their values: their parameters need no gradient any more; of
/// kAllFrozen all parameters but those below `classifier`. How many parameters these have. Throws std::invalid_argument
/// where the model has fewer blocks.
int64_t freeze(torch::nn::Module& network, int64_t blocks, const std::vector<int64_t>& stages,
               const std::string& classifier);

/// Training mode for what learns; what is frozen as a whole stays as in evaluation, dropout and batch norm included.
void train_what_learns(torch::nn::Module& network);

/// Adjacent parameters that are treated alike share a group; padding belongs to the group before it.
std::vector<Group> parameter_groups(const FlatParameters& parameters, const GroupOptions& options);

}  // namespace fib::training
