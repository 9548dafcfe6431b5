// SPDX-License-Identifier: Apache-2.0
// The options that say which trained models a command looks at, on which images, and how these become a model's input.
#pragma once

#include <string>
#include <vector>

#include "cli/model_options.h"

namespace fib::cli {

/// What is not given follows the model.
struct PreprocessArguments {
  int64_t resize = 0, crop = 0;  ///< 0: not given
  std::vector<float> mean, std;  ///< empty: not given
};

/// --resize, --crop, --mean, --std.
void add_preprocess_options(CLI::App& app, PreprocessArguments& arguments);

struct SubjectArguments {
  std::vector<std::string> runs;  ///< run directories; empty: --model and --weights say what
  std::string checkpoint = "best";
  ModelArguments model;
  PreprocessArguments preprocess;
  std::string data;
  int64_t batch = 16;
};

enum class Subjects { one, many };

/// --run, --checkpoint, --model, --weights, --attention, --data, --batch and how images are framed.
void add_subject_options(CLI::App& app, SubjectArguments& arguments, Subjects subjects);

}  // namespace fib::cli
