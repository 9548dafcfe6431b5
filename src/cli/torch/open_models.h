// SPDX-License-Identifier: Apache-2.0
// From the options to the trained models they name.
#pragma once

#include <string>
#include <vector>

#include "cli/model_options.h"
#include "training/torch/trained_model.h"

namespace fib::cli {

/// What was asked for, of one model: of a.runs the first.
training::ModelRequest model_request(const ModelArguments& arguments);

/// One model, which need not have images to be tested on. Where what was asked for differs from what the weights say of
/// themselves, or images were passed by, a line on stderr tells it unless `quiet`.
training::TrainedModel open_model(const training::ModelRequest& request, bool quiet);

/// In the order given, each with a test set; throws std::invalid_argument where nothing is named.
std::vector<training::TrainedModel> open_models(const ModelArguments& arguments, bool quiet);

/// How images become the input of each model: a line for each, one line where all agree.
std::string inputs_text(const std::vector<training::TrainedModel>& models);

}  // namespace fib::cli
