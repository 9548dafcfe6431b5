// SPDX-License-Identifier: Apache-2.0
// How an image becomes a model's input; what the options do not say follows the model.
#pragma once

#include "cli/subject_options.h"
#include "data/preprocess.h"
#include "models/table.h"

namespace fib::cli {

/// Throws std::invalid_argument for values that do not fit together.
Preprocess preprocess_options(const PreprocessArguments& arguments, const models::ModelRow& row);

}  // namespace fib::cli
