// SPDX-License-Identifier: Apache-2.0
// The trained models that the options name, with their images.
#pragma once

#include <vector>

#include "cli/subject_options.h"
#include "training/torch/trained_model.h"

namespace fib::cli {

/// In the order given; throws std::invalid_argument where nothing is.
std::vector<training::TrainedModel> open_subjects(const SubjectArguments& arguments);

}  // namespace fib::cli
