// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/classify.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "cli/output.h"
#include "cli/torch/classification.h"
#include "cli/torch/preprocess_options.h"
#include "data/labels.h"
#include "models/torch/weights.h"

namespace fib::cli {
namespace {

/// Images computed at once: more gain nothing on a CPU, and results come sooner.
constexpr size_t kBatch = 8;

std::vector<std::string> read_class_names(const std::string& file, int64_t classes) {
  if (file.empty()) return {};
  std::vector<std::string> names = read_labels(file);
  if (static_cast<int64_t>(names.size()) == classes) return names;
  throw std::runtime_error(fmt::format("{} names {} classes, the weights have {}", file, names.size(), classes));
}

/// Those of `files` that can be read, with their pixels; the others get a line on stderr.
struct ReadImages {
  std::vector<std::string> files;
  std::vector<at::Tensor> pixels;
};

ReadImages read_images(const std::vector<std::string>& files, const Preprocess& options) {
  ReadImages read;
  for (const std::string& file : files) {
    try {
      read.pixels.push_back(preprocessed(file, options));
      read.files.push_back(file);
    } catch (const std::exception& error) {
      say(fmt::format("fib: {}", error.what()));
    }
  }
  return read;
}

class Classifier {
 public:
  explicit Classifier(const ClassifyArguments& a)
      : preprocess_(preprocess_options(a.preprocess, models::find_row(a.model.model))), top_(a.top) {
    models::Options options = model_options(a.model);
    options.resolution = preprocess_.crop;
    model_ = models::make_with_weights(a.model.model, a.model.weights, options);
    model_->eval();
    names_ = read_class_names(a.labels, model_->dimensions().row.classes);
  }

  /// Fewer results than files where some cannot be read.
  std::vector<ClassifiedImage> classify(const std::vector<std::string>& files) {
    const at::NoGradGuard no_grad;
    const ReadImages read = read_images(files, preprocess_);
    if (read.files.empty()) return {};
    const at::Tensor logits = model_->forward(at::stack(read.pixels));
    std::vector<ClassifiedImage> results;
    for (size_t i = 0; i < read.files.size(); ++i) {
      results.push_back({read.files[i], best_classes(logits[static_cast<int64_t>(i)], top_, names_)});
    }
    return results;
  }

 private:
  Preprocess preprocess_;
  int64_t top_;
  models::ModelPtr model_;
  std::vector<std::string> names_;
};

void run(const ClassifyArguments& a, const Globals& globals) {
  Classifier classifier(a);
  auto json = nlohmann::ordered_json::array();
  size_t classified = 0;
  for (size_t begin = 0; begin < a.images.size(); begin += kBatch) {
    const size_t end = std::min(a.images.size(), begin + kBatch);
    for (const ClassifiedImage& image : classifier.classify(
             {a.images.begin() + static_cast<ptrdiff_t>(begin), a.images.begin() + static_cast<ptrdiff_t>(end)})) {
      if (a.json) {
        json.push_back(classified_json(image));
      } else if (!globals.quiet) {
        fmt::print("{}{}", classified > 0 ? "\n" : "", classified_text(image));
      }
      ++classified;
    }
  }
  if (a.json) print_json(json);
  if (classified < a.images.size()) {
    throw std::runtime_error(
        fmt::format("{} of {} images could not be classified", a.images.size() - classified, a.images.size()));
  }
}

const TorchRunner<ClassifyArguments> classify_runner(run);

}  // namespace
}  // namespace fib::cli
