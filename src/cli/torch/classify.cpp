// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "cli/model_options.h"
#include "cli/torch/classification.h"
#include "cli/torch/commands.h"
#include "cli/torch/preprocess_options.h"
#include "data/labels.h"
#include "models/torch/weights.h"

namespace fib::cli {
namespace {

/// Pictures computed at once: more gain nothing on a CPU, and results come sooner.
constexpr size_t kBatch = 8;

struct ClassifyArguments {
  ModelArguments model;
  PreprocessArguments preprocess;
  std::string labels;
  int64_t top = 5;
  bool json = false;
  std::vector<std::string> images;
};

void declare(CLI::App& command, ClassifyArguments& a) {
  add_model_options(command, a.model);
  command.add_option("--labels", a.labels, "names of the classes: a JSON array, or an object by index")
      ->type_name("F.json");
  add_integer(command, "--top", a.top, {1, 1000000}, "classes to show per picture")->capture_default_str();
  add_preprocess_options(command, a.preprocess);
  command.add_flag("--json", a.json, "for machines");
  command.add_option("IMAGE", a.images, "JPEG, PNG or WebP")->required()->type_name("");
  command.footer(
      "A picture that cannot be read is reported, the others are classified, and the exit code is 1.\n"
      "Example: fib classify --model vit_tiny_patch16_224 --weights vit_tiny.safetensors --labels classes.json a.jpg "
      "b.png");
}

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
      fmt::print(stderr, "fib: {}\n", error.what());
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
  // A file's name need not be UTF-8.
  if (a.json) fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  if (classified < a.images.size()) {
    throw std::runtime_error(
        fmt::format("{} of {} pictures could not be classified", a.images.size() - classified, a.images.size()));
  }
}

}  // namespace

void add_classify(CLI::App& command, const Globals& globals) {
  const auto arguments = std::make_shared<ClassifyArguments>();
  declare(command, *arguments);
  command.callback([arguments, &globals] { run(*arguments, globals); });
}

}  // namespace fib::cli
