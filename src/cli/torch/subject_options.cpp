// SPDX-License-Identifier: Apache-2.0
#include "cli/torch/subject_options.h"

#include <algorithm>
#include <stdexcept>

#include "data/open_dataset.h"
#include "models/torch/weights.h"

namespace fib::cli {
namespace {

using training::TrainedModel;

/// A picture is framed by the options; where a dataset knows its mean and deviation, they are what models of it were
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

void add_subject_options(CLI::App& app, SubjectArguments& a, Subjects subjects) {
  add_model_options(app, a.model);
  const std::string help = "a run of fib train; its recipe says the rest";
  CLI::Option* run = app.add_option("--run", a.runs, subjects == Subjects::many ? help + "; may be repeated" : help);
  run->type_name("DIR")->allow_extra_args(false);
  if (subjects == Subjects::one) run->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  for (const char* other : {"--model", "--weights", "--attention", "--wmin", "--wmax", "--modified"}) {
    app.get_option(other)->required(false)->excludes(run);
  }
  app.add_option("--checkpoint", a.checkpoint, "which weights of the run: best, model or ema")
      ->check(CLI::IsMember({"best", "model", "ema"}))
      ->needs(run)
      ->capture_default_str();
  app.add_option("--data", a.data, "NAME or NAME:PATH, fib datasets lists them; folder:PATH is an image folder")
      ->type_name("KIND:PATH");
  add_integer(app, "--batch", a.batch, {1, 65536}, "pictures computed at once")->capture_default_str();
  add_preprocess_options(app, a.preprocess);
}

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
