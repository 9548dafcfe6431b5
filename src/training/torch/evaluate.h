// SPDX-License-Identifier: Apache-2.0
// How well a model does on a set of images.
#pragma once

#include <functional>

#include "data/loader.h"
#include "models/torch/model.h"
#include "training/torch/process_group.h"

namespace fib::training {

struct Evaluation {
  int64_t images = 0;
  double top1 = 0;  ///< shares in [0, 1]
  double top5 = 0;
  double loss = 0;  ///< mean cross-entropy with the labels themselves
  double seconds = 0;

  double images_per_second() const { return seconds > 0 ? static_cast<double>(images) / seconds : 0; }
};

/// Called after every batch with how many images are done, of all processes together, and how many there are.
using EvaluationProgress = std::function<void(int64_t done, int64_t total)>;

/// In eval mode and without gradients; the model is in training mode afterwards if it was before. Every process of the
/// group evaluates its part, and all get the whole result.
Evaluation evaluate(models::Model& model, const Loader& loader, ProcessGroup& group,
                    const EvaluationProgress& progress = {});

}  // namespace fib::training
