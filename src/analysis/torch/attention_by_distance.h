// SPDX-License-Identifier: Apache-2.0
// How much attention lies at each distance of two patches, in every head of every layer of a dense model.
#pragma once

#include <vector>

#include "analysis/torch/batches.h"

namespace fib::analysis {

/// [layer][head][distance], summed over the pairs of patches |j - k| apart and averaged over images; with what class
/// tokens are given, a head's sum is the number of patches. Throws std::invalid_argument for layers that are not dense
/// or not over one set of tokens, and for no image.
std::vector<std::vector<std::vector<double>>> attention_by_distance(const training::TrainedModel& subject,
                                                                    const DatasetPtr& images, const ImagesDone& done);

}  // namespace fib::analysis
