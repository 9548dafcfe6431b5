// SPDX-License-Identifier: Apache-2.0
// Which patches of an image show its object: boxes of the data, boxes of a file, or what stands out from a black
// ground.
#pragma once

#include <map>
#include <string>

#include "analysis/torch/over_images.h"

namespace fib::analysis {

/// What decides the region, in words, and the rule itself.
struct RegionRule {
  std::string description;
  RegionOf region;
};

/// By image of the test set, from 0.
using BoxesByImage = std::map<size_t, ObjectBox>;

/// The rule for a model's test set: `boxes` where there are any. Throws std::invalid_argument where nothing tells.
RegionRule region_rule(const training::TrainedModel& model, const BoxesByImage& boxes);

/// The images that have a box, the first `most` of them. Throws std::invalid_argument for one that the data has not.
DatasetPtr boxed_images(const training::TrainedModel& model, const BoxesByImage& boxes, int64_t most);

}  // namespace fib::analysis
