// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "base/atomic_file.h"
#include "cli/classified.h"
#include "cli/output.h"
#include "cli/standard_streams.h"
#include "cli/torch/subject_options.h"
#include "engine/lower.h"
#include "engine/torch/record.h"
#include "report/words.h"

namespace fib::cli {
namespace {

models::ModelCard card_of(const training::TrainedModel& subject) {
  models::ModelCard card;
  card.model = subject.model, card.attention = subject.attention;
  card.resolution = subject.view.input_size, card.channels = subject.view.channels;
  card.mean = subject.view.mean, card.std = subject.view.std, card.crop_ratio = subject.view.crop_ratio;
  card.class_names = subject.class_names;
  const models::Dimensions& dims = subject.module->dimensions();
  card.attention_layers = models::layers_text(dims.options.attention_layers);
  if (!dims.takes_clips()) return card;
  card.frames = dims.frames(), card.attention_in = models::to_string(dims.options.attention_in);
  card.sampling_rate = subject.view.clip.rate, card.crops = subject.view.views;
  return card;
}

/// A model as it is made, with parameters from a fixed seed.
training::TrainedModel random_model(const CompileArguments& a, int64_t resolution) {
  if (a.subject.model.empty())
    throw std::invalid_argument("which model? Give --run DIR, --weights F.safetensors, or --model for random weights");
  const models::ModelRow& row = models::find_row(a.subject.model);
  models::ModelCard card = models::published_card(row);
  if (!a.subject.attention.attention.empty()) card.attention = attention_spec(a.subject.attention).to_string();
  card.attention_in = a.subject.place.attention_in;
  card.attention_layers = a.subject.place.attention_layers;
  if (resolution > 0) card.resolution = resolution;
  torch::manual_seed(0);
  training::TrainedModel subject;
  subject.model = card.model, subject.attention = card.attention;
  subject.module = models::make(card.model, models::options_of(card));
  subject.module->eval();
  subject.view.input_size = static_cast<int>(card.resolution);
  subject.view.channels = static_cast<int>(card.channels);
  subject.view.mean = card.mean, subject.view.std = card.std, subject.view.crop_ratio = card.crop_ratio;
  subject.view.views = static_cast<int>(std::max<int64_t>(card.crops, 1));
  if (card.sampling_rate > 0) subject.view.clip.rate = static_cast<int>(card.sampling_rate);
  return subject;
}

/// The model at one size; 0 is its own.
training::TrainedModel subject_at(const CompileArguments& a, int64_t resolution, bool quiet) {
  if (a.subject.weights.empty() && a.subject.runs.empty()) return random_model(a, resolution);
  training::ModelRequest request = model_request(a.subject);
  request.crop = resolution;
  request.without_images = true;
  return open_subject(request, quiet);
}

void run(const CompileArguments& a, const Globals& globals) {
  StandardStreams streams;
  const std::string out = streams.output("--out", a.output, ".fib");
  check_ending("--out", out, ".fib");
  check_writable(out);
  engine::FibContent content;
  content.precision = engine::precision_named(a.precision), content.most_samples = a.most_images;
  engine::TensorStore tensors;
  const at::NoGradGuard no_grad;
  for (const int64_t resolution : a.resolutions.empty() ? std::vector<int64_t>{0} : a.resolutions) {
    training::TrainedModel subject = subject_at(a, resolution, globals.quiet);
    if (!a.labels.empty()) subject.class_names = read_class_names(a.labels, subject.module->dimensions().row.classes);
    if (content.card.empty()) content.card = models::to_metadata(card_of(subject));
    content.programs.push_back(engine::lower(engine::record(*subject.module), content.precision, tensors));
  }
  engine::write_fib(out, content, tensors.views());
  say_written(out, globals.quiet || streams.output_used(),
              fmt::format("({} with {}, {}, {}, {} steps)", content.card.at("model"), content.card.at("attention"),
                          a.precision, report::bytes(static_cast<int64_t>(std::filesystem::file_size(out))),
                          content.programs.front().steps.size()));
  streams.finish();
}

const TorchRunner<CompileArguments> compile_runner(run);

}  // namespace
}  // namespace fib::cli
