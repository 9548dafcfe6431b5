// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/classify.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/printable.h"
#include "cli/output.h"
#include "cli/torch/subject_options.h"
#include "data/labels.h"
#include "report/table.h"

namespace fib::cli {
namespace {

using report::Table;
using training::ClassifiedImage;
using training::Classifier;
using training::RankedClass;

/// Images computed at once: more gain nothing on a CPU, and results come sooner.
constexpr size_t kBatch = 8;

nlohmann::ordered_json classified_json(const ClassifiedImage& image) {
  auto top = nlohmann::ordered_json::array();
  for (const RankedClass& c : image.top) {
    top.push_back({{"class", c.index},
                   {"label", c.label.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(c.label)},
                   {"probability", c.probability},
                   {"logit", c.logit}});
  }
  return {{"image", image.file}, {"top", top}};
}

std::string classified_text(const ClassifiedImage& image) {
  using enum Table::Align;
  Table table({{"", left}, {"", right}, {"", right}, {"", right}, {"", left}});
  for (const RankedClass& c : image.top) {
    table.add_row({"", fmt::format("{:.2f} %", 100 * c.probability), fmt::format("{:.3f}", c.logit),
                   std::to_string(c.index), c.label});
  }
  return printable(image.file, 200) + "\n" + table.to_string() + "\n";
}

std::vector<std::string> read_class_names(const std::string& file, int64_t classes) {
  std::vector<std::string> names = read_labels(file);
  if (static_cast<int64_t>(names.size()) == classes) return names;
  throw std::runtime_error(fmt::format("{} names {} classes, the weights have {}", file, names.size(), classes));
}

Classifier make_classifier(const ClassifyArguments& a, bool quiet) {
  training::ModelRequest request = model_request(a.subject);
  request.without_images = true;
  training::TrainedModel model = open_subject(request, quiet);
  if (!a.labels.empty()) model.class_names = read_class_names(a.labels, model.module->dimensions().row.classes);
  return Classifier(std::move(model));
}

/// The results of some files, shown or collected; how many there are.
size_t show(const std::vector<ClassifiedImage>& images, bool text, nlohmann::ordered_json& json) {
  size_t classified = 0;
  for (const ClassifiedImage& image : images) {
    if (!image.error.empty()) {
      say("fib: " + image.error);
      continue;
    }
    json.push_back(classified_json(image));
    if (text) fmt::print("{}", classified_text(image));
    ++classified;
  }
  return classified;
}

void run(const ClassifyArguments& a, const Globals& globals) {
  const bool text = !a.json && !globals.quiet;
  const Classifier classifier = make_classifier(a, globals.quiet);
  auto json = nlohmann::ordered_json::array();
  size_t classified = 0;
  for (size_t begin = 0; begin < a.images.size(); begin += kBatch) {
    const auto first = a.images.begin() + static_cast<ptrdiff_t>(begin);
    const auto last = first + static_cast<ptrdiff_t>(std::min(kBatch, a.images.size() - begin));
    classified += show(classifier.classify({first, last}, a.top), text, json);
  }
  if (a.json) print_json(json);
  const training::TrainedModel& model = classifier.model();
  if (text) fmt::print("{}, {} attention; input {}\n", model.model, model.attention, model.input_text());
  if (classified < a.images.size()) {
    throw std::runtime_error(
        fmt::format("{} of {} images could not be classified", a.images.size() - classified, a.images.size()));
  }
}

const TorchRunner<ClassifyArguments> classify_runner(run);

}  // namespace
}  // namespace fib::cli
