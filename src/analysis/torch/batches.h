// SPDX-License-Identifier: Apache-2.0
// A dataset's images through a trained model, batch by batch.
#pragma once

#include <functional>

#include "training/torch/classification.h"
#include "training/torch/trained_model.h"

namespace fib::analysis {

/// Called with how many images are done.
using ImagesDone = std::function<void(int64_t done)>;

using training::images_of;

/// Without gradients, in the dataset's order.
void for_each_batch(const training::TrainedModel& subject, const DatasetPtr& images, const ImagesDone& done,
                    const std::function<void(Batch&)>& use);

}  // namespace fib::analysis
