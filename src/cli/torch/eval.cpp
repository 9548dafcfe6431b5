// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "cli/model_options.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/torch/commands.h"
#include "cli/torch/preprocess_options.h"
#include "cli/torch/score.h"
#include "data/loader.h"
#include "data/open_dataset.h"
#include "models/weights.h"
#include "report/words.h"

namespace fib::cli {
namespace {

struct EvalArguments {
  ModelArguments model;
  PreprocessArguments preprocess;
  std::string data;
  int64_t batch = 16;
  bool json = false;
};

struct Evaluation {
  Score score;
  double seconds = 0;

  double images_per_second() const { return static_cast<double>(score.images()) / seconds; }
};

void declare(CLI::App& command, EvalArguments& a) {
  add_model_options(command, a.model);
  command.add_option("--data", a.data, "NAME or NAME:PATH, fib datasets lists them; folder:PATH is an image folder")
      ->type_name("KIND:PATH")
      ->required();
  add_integer(command, "--batch", a.batch, {1, 65536}, "pictures computed at once")->capture_default_str();
  add_preprocess_options(command, a.preprocess);
  command.add_flag("--json", a.json, "for machines");
  command.footer(
      "An image folder has a folder for each class; names that are all digits are class indices, others are sorted.\n"
      "Example: fib eval --model vit_tiny_patch16_224 --weights vit_tiny.safetensors --data folder:imagenet-val");
}

/// A picture is framed by the options; where a dataset knows its mean and deviation, they are what models of it were
/// trained with, and only an image folder leaves them to the model.
Pipeline pipeline_for(const EvalArguments& a, const DatasetInfo& info, const Preprocess& p) {
  PipelineConfig config = evaluation_config(info, static_cast<int>(p.crop), 1.0);
  // Rounding down must give resize_shorter back.
  config.crop_ratio = static_cast<double>(p.crop) / (static_cast<double>(p.resize_shorter) + 0.5);
  const bool folder = info.image_size == 0;
  if (folder || !a.preprocess.mean.empty()) config.mean.assign(p.mean.begin(), p.mean.begin() + info.channels);
  if (folder || !a.preprocess.std.empty()) config.std.assign(p.std.begin(), p.std.begin() + info.channels);
  return Pipeline(config);
}

void check_labels(const Dataset& dataset, const models::Model& model) {
  const int64_t largest = *std::max_element(dataset.labels().begin(), dataset.labels().end());
  const int64_t classes = model.dimensions().row.classes;
  if (largest < classes) return;
  throw std::runtime_error(
      fmt::format("the data has a class {}, the weights know classes 0 to {}", largest, classes - 1));
}

at::Tensor images_of(const Batch& batch) {
  return at::from_blob(const_cast<float*>(batch.images.data()),
                       {static_cast<int64_t>(batch.size()), batch.channels, batch.height, batch.width});
}

at::Tensor labels_of(const Batch& batch) {
  return at::from_blob(const_cast<int64_t*>(batch.labels.data()), {static_cast<int64_t>(batch.size())}, at::kLong);
}

Evaluation evaluate(models::Model& model, const Loader& loader, bool quiet) {
  const at::NoGradGuard no_grad;
  Evaluation result;
  Progress progress("images", static_cast<int64_t>(loader.dataset().size()), quiet);
  const auto begin = std::chrono::steady_clock::now();
  BatchStream stream = loader.epoch(0);
  while (const std::optional<Batch> batch = stream.next()) {
    result.score.add(model.forward(images_of(*batch)), labels_of(*batch));
    progress.show(result.score.images());
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

nlohmann::ordered_json evaluation_json(const EvalArguments& a, const std::string& attention, const Evaluation& e) {
  return {{"model", a.model.model}, {"attention", attention},
          {"data", a.data},         {"images", e.score.images()},
          {"top1", e.score.top1()}, {"top5", e.score.top5()},
          {"loss", e.score.loss()}, {"images_per_second", e.images_per_second()}};
}

std::string evaluation_text(const EvalArguments& a, const std::string& attention, const Evaluation& e) {
  Table table({{}, {}});
  table.add_row({"model", a.model.model + ", " + attention + " attention"});
  table.add_row({"data", fmt::format("{}, {} images", a.data, report::grouped(e.score.images()))});
  table.add_row({"top-1", fmt::format("{:.2f} %", 100 * e.score.top1())});
  table.add_row({"top-5", fmt::format("{:.2f} %", 100 * e.score.top5())});
  table.add_row({"loss", fmt::format("{:.4f}", e.score.loss())});
  table.add_row({"speed", fmt::format("{:.1f} images/s", e.images_per_second())});
  return table.to_string();
}

void run(const EvalArguments& a, const Globals& globals) {
  models::Options options = model_options(a.model);
  const Preprocess preprocess = preprocess_options(a.preprocess, models::find_row(a.model.model));
  const DatasetPtr dataset = open_dataset(a.data, DatasetPart::test);
  options.resolution = preprocess.crop;
  options.channels = dataset->info().channels;
  const models::ModelPtr model = models::make_with_weights(a.model.model, a.model.weights, options);
  model->eval();
  check_labels(*dataset, *model);
  LoaderOptions loading;
  loading.sampler = {.batch = static_cast<size_t>(a.batch), .shuffle = false, .drop_last = false};
  loading.workers = default_workers();
  const Loader loader(dataset, pipeline_for(a, dataset->info(), preprocess), loading);
  const Evaluation result = evaluate(*model, loader, globals.quiet || a.json);
  const std::string attention = options.attention.to_string();
  if (a.json) {
    fmt::print("{}\n", evaluation_json(a, attention, result).dump());
  } else if (!globals.quiet) {
    fmt::print("{}", evaluation_text(a, attention, result));
  }
}

}  // namespace

void add_eval(CLI::App& command, const Globals& globals) {
  const auto arguments = std::make_shared<EvalArguments>();
  declare(command, *arguments);
  command.callback([arguments, &globals] { run(*arguments, globals); });
}

}  // namespace fib::cli
