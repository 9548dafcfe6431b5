// SPDX-License-Identifier: Apache-2.0
// The options that say which trained models a command looks at, and on which images: runs, or a model and its weights.
#pragma once

#include <string>
#include <vector>

#include "cli/model_options.h"
#include "cli/torch/preprocess_options.h"
#include "training/torch/trained_model.h"

namespace fib::cli {

struct SubjectArguments {
  std::vector<std::string> runs;  ///< run directories; empty: --model and --weights say what
  std::string checkpoint = "best";
  ModelArguments model;
  PreprocessArguments preprocess;
  std::string data;
  int64_t batch = 16;
};

enum class Subjects { one, many };

/// --run, --checkpoint, --model, --weights, --attention, --data, --batch and how pictures are framed.
void add_subject_options(CLI::App& app, SubjectArguments& arguments, Subjects subjects);

/// In the order given; throws std::invalid_argument where nothing is.
std::vector<training::TrainedModel> open_subjects(const SubjectArguments& arguments);

}  // namespace fib::cli
