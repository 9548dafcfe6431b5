// SPDX-License-Identifier: Apache-2.0
#include "cli/torch/subject_options.h"

#include <algorithm>
#include <stdexcept>

#include "cli/torch/preprocess_options.h"
#include "data/open_dataset.h"
#include "models/torch/weights.h"

namespace fib::cli {
namespace {

using training::TrainedModel;

/// An image is framed by the options; where a dataset knows its mean and deviation, they are what models of it were
/// trained with, and only an image folder leaves them to the model.
PipelineConfig view_for(const SubjectArguments& a, const DatasetInfo& info, const Preprocess& p) {
  PipelineConfig config = evaluation_config(info, static_cast<int>(p.crop), 1.0);
  // Rounding down must give resize_shorter back.
  config.crop_ratio = static_cast<double>(p.crop) / (static_cast<double>(p.resize_shorter) + 0.5);
  const bool folder = info.image_size == 0;
  if (folder || !a.preprocess.mean.empty()) config.mean.assign(p.mean.begin(), p.mean.begin() + info.channels);
  if (folder || !a.preprocess.std.empty()) config.std.assign(p.std.begin(), p.std.begin() + info.channels);
  return config;
}

TrainedModel from_weights(const SubjectArguments& a) {
  models::Options options = model_options(a.model);
  const Preprocess preprocess = preprocess_options(a.preprocess, models::find_row(a.model.model));
  TrainedModel subject{.name = options.attention.to_string(),
                       .model = a.model.model,
                       .attention = options.attention.to_string(),
                       .data = a.data,
                       .dataset = open_dataset(a.data, DatasetPart::test),
                       .batch = a.batch};
  options.resolution = preprocess.crop;
  options.channels = subject.dataset->info().channels;
  subject.module = models::make_with_weights(a.model.model, a.model.weights, options);
  subject.module->eval();
  subject.view = view_for(a, subject.dataset->info(), preprocess);
  return subject;
}

/// Runs are told apart by their directories' names, or by the whole path where those agree.
void name_apart(std::vector<TrainedModel>& subjects, const std::vector<std::string>& paths) {
  for (size_t i = 0; i < subjects.size(); ++i) {
    const auto same = [&](const TrainedModel& other) { return other.name == subjects[i].name; };
    if (std::count_if(subjects.begin(), subjects.end(), same) > 1) subjects[i].name = paths[i];
  }
}

}  // namespace

std::vector<TrainedModel> open_subjects(const SubjectArguments& a) {
  std::vector<TrainedModel> subjects;
  for (const std::string& run : a.runs) {
    subjects.push_back(training::open_run(run, a.checkpoint, a.data));
    subjects.back().batch = a.batch;
  }
  if (!a.runs.empty()) {
    name_apart(subjects, a.runs);
    return subjects;
  }
  if (a.model.model.empty() || a.model.weights.empty() || a.data.empty())
    throw std::invalid_argument("which model? Give --run DIR, or --model, --weights and --data");
  subjects.push_back(from_weights(a));
  return subjects;
}

}  // namespace fib::cli
