// SPDX-License-Identifier: Apache-2.0
// The options that say which trained models a command looks at, on which images, and how these become a model's input.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"

namespace fib::cli {

/// What is not given is told by the weights or the run, and else follows the model.
struct SubjectArguments {
  std::vector<std::string> runs;  ///< run directories; empty: --weights says what
  std::string checkpoint = "best";
  std::string weights, model;
  AttentionArguments attention{.attention = ""};
  PlaceArguments place;
  int64_t resize = 0, crop = 0;  ///< 0: not given
  std::vector<float> mean, std;  ///< empty: not given
  std::string data;
  int64_t batch = 16;
};

enum class Subjects { one, many };

/// --run, --checkpoint, --model, --weights, --attention and its shorthands.
void add_weights_options(CLI::App& app, SubjectArguments& arguments, Subjects subjects);

/// --resize, --crop, --mean, --std.
void add_preprocess_options(CLI::App& app, SubjectArguments& arguments);

/// All of them, --data and --batch.
void add_subject_options(CLI::App& app, SubjectArguments& arguments, Subjects subjects);

}  // namespace fib::cli
