// SPDX-License-Identifier: Apache-2.0
// What the analyses of several models over many images share.
#pragma once

#include <functional>

#include "analysis/torch/over_images.h"
#include "cli/analyze_options.h"
#include "cli/torch/subject_options.h"

namespace fib::cli {

/// The layer from 0. Throws std::invalid_argument unless the model has it.
int64_t chosen_layer(const AnalyzeArguments& arguments, const models::Model& model);

/// The images of a subject that are looked at.
DatasetPtr chosen_images(const AnalyzeArguments& arguments, const training::TrainedModel& subject);

/// Calls `work` with something that shows a bar while images are done.
void with_progress(const training::TrainedModel& subject, const DatasetPtr& images, bool quiet,
                   const std::function<void(const analysis::ImagesDone&)>& work);

}  // namespace fib::cli
