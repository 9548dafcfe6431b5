// SPDX-License-Identifier: Apache-2.0
// The measures over many images of a trained model.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/torch/measures.h"
#include "data/object_region.h"
#include "training/torch/classification.h"
#include "training/torch/trained_model.h"

namespace fib::analysis {

/// Called with how many images are done.
using ImagesDone = std::function<void(int64_t done)>;

using training::images_of;

/// Without gradients, in the dataset's order.
void for_each_batch(const training::TrainedModel& subject, const DatasetPtr& images, const ImagesDone& done,
                    const std::function<void(Batch&)>& use);

/// The head diversity of a layer for each image. Throws std::invalid_argument for a single head and for windows.
std::vector<double> diversity_over(const training::TrainedModel& subject, const DatasetPtr& images, int64_t layer,
                                   const ImagesDone& done);

/// The region of an image by its number in the dataset; empty where it has none.
using RegionOf = std::function<PatchRegion(const Dataset& images, size_t index)>;

struct InsideOver {
  InsideAttention mean;     ///< of all images
  int64_t images = 0;       ///< that have an object
  double region_share = 0;  ///< of the patches, on average
};

/// Attention inside objects, averaged over images; those whose region holds no patch are passed by. Throws
/// std::invalid_argument where no image has a region, and for a mechanism that has no weight per pair.
InsideOver inside_over(const training::TrainedModel& subject, const DatasetPtr& images, int64_t layer,
                       const RegionOf& region, const ImagesDone& done);

/// How much attention lies at each distance of two patches, in every head of every layer of a dense model:
/// [layer][head][distance], summed over the pairs of patches |j - k| apart and averaged over images; with what class
/// tokens are given, a head's sum is the number of patches. Throws std::invalid_argument for layers that are not dense
/// or not over one set of tokens, and for no image.
std::vector<std::vector<std::vector<double>>> attention_by_distance(const training::TrainedModel& subject,
                                                                    const DatasetPtr& images, const ImagesDone& done);

/// A line that says why a model has no attention maps, if so: they need shares that queries give to keys, which
/// linformer's learned factors of either sign are not, and one grid of patches with a class token throughout.
std::optional<std::string> why_no_attention_maps(const models::Model& model);

/// Throws std::invalid_argument with that line.
void require_attention_maps(const models::Model& model);

}  // namespace fib::analysis
