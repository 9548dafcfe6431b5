// SPDX-License-Identifier: Apache-2.0
// The options that say how a picture becomes a model's input; what is not said follows the model.
#pragma once

#include <vector>

#include "cli/options.h"
#include "data/preprocess.h"
#include "models/table.h"

namespace fib::cli {

struct PreprocessArguments {
  int64_t resize = 0, crop = 0;  ///< 0: not given
  std::vector<float> mean, std;  ///< empty: not given
};

/// --resize, --crop, --mean, --std.
void add_preprocess_options(CLI::App& app, PreprocessArguments& arguments);

/// Throws std::invalid_argument for values that do not fit together.
Preprocess preprocess_options(const PreprocessArguments& arguments, const models::Row& row);

}  // namespace fib::cli
