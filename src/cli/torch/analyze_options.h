// SPDX-License-Identifier: Apache-2.0
// What the analyses of several models over many images share.
#pragma once

#include <functional>

#include "analysis/torch/over_images.h"
#include "cli/app.h"
#include "cli/torch/subject_options.h"

namespace fib::cli {

struct AnalyzeArguments {
  SubjectArguments subjects;
  int64_t images = 0;
  int64_t layer = 0;  ///< from 1; 0: the last
  std::vector<std::string> plots;
  bool json = false;
};

/// The subjects' options, --images and --json; `images` is how many by default.
void add_analyze_options(CLI::App& app, AnalyzeArguments& arguments, int64_t images);
void add_layer_option(CLI::App& app, AnalyzeArguments& arguments);
/// --plot, where there is something to draw.
void add_plot_option(CLI::App& app, AnalyzeArguments& arguments, const std::string& help);

/// The layer from 0. Throws std::invalid_argument unless the model has it.
int64_t chosen_layer(const AnalyzeArguments& arguments, const models::Model& model);

/// The images of a subject that are looked at.
DatasetPtr chosen_images(const AnalyzeArguments& arguments, const training::TrainedModel& subject);

/// Calls `work` with something that shows a bar while images are done.
void with_progress(const training::TrainedModel& subject, const DatasetPtr& images, bool quiet,
                   const std::function<void(const analysis::ImagesDone&)>& work);

}  // namespace fib::cli
