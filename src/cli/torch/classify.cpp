// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/classify.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/classified.h"
#include "cli/torch/subject_options.h"

namespace fib::cli {
namespace {

using training::Classifier;

/// Images computed at once: more gain nothing on a CPU, and results come sooner.
constexpr size_t kBatch = 8;

Classifier make_classifier(const ClassifyArguments& a, bool quiet) {
  training::ModelRequest request = model_request(a.subject);
  request.without_images = true;
  training::TrainedModel model = open_subject(request, quiet);
  if (!a.labels.empty()) model.class_names = read_class_names(a.labels, model.module->dimensions().row.classes);
  return Classifier(std::move(model));
}

void run(const ClassifyArguments& a, const Globals& globals) {
  const bool text = !a.json && !globals.quiet;
  const Classifier classifier = make_classifier(a, globals.quiet);
  auto json = nlohmann::ordered_json::array();
  size_t classified = 0;
  StandardStreams streams;
  const std::vector<std::string> files = image_files(streams, a.images);
  for (size_t begin = 0; begin < files.size(); begin += kBatch) {
    const auto first = files.begin() + static_cast<ptrdiff_t>(begin);
    const auto last = first + static_cast<ptrdiff_t>(std::min(kBatch, files.size() - begin));
    classified += show_classified(classifier.classify({first, last}, a.top), streams, text, json);
  }
  if (a.json) print_json(json);
  const training::TrainedModel& model = classifier.model();
  if (text) fmt::print("{}, {} attention; input {}\n", model.model, model.attention, model.input_text());
  check_all_classified(classified, a.images.size());
}

const TorchRunner<ClassifyArguments> classify_runner(run);

}  // namespace
}  // namespace fib::cli
