// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "cli/model_options.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/torch/commands.h"
#include "cli/torch/preprocess_options.h"
#include "data/loader.h"
#include "data/open_dataset.h"
#include "models/weights.h"
#include "report/words.h"
#include "training/evaluate.h"
#include "training/experiment.h"
#include "training/run/directory.h"

namespace fib::cli {
namespace {

struct EvalArguments {
  std::string run;  ///< a run directory; empty: --model and --weights say what
  std::string checkpoint = "best";
  ModelArguments model;
  PreprocessArguments preprocess;
  std::string data;
  int64_t batch = 16;
  bool json = false;
};

/// What is evaluated, however it was asked for.
struct Candidate {
  std::string model, attention, data;
  models::ModelPtr module = nullptr;
  std::unique_ptr<Loader> loader = nullptr;
};

void declare(CLI::App& command, EvalArguments& a) {
  add_model_options(command, a.model);
  CLI::Option* run =
      command.add_option("--run", a.run, "a run of fib train; its recipe says the rest")->type_name("DIR");
  for (const char* other : {"--model", "--weights", "--attention", "--wmin", "--wmax", "--modified"}) {
    command.get_option(other)->required(false)->excludes(run);
  }
  command.add_option("--checkpoint", a.checkpoint, "which weights of the run: best, model or ema")
      ->check(CLI::IsMember({"best", "model", "ema"}))
      ->needs(run)
      ->capture_default_str();
  command.add_option("--data", a.data, "NAME or NAME:PATH, fib datasets lists them; folder:PATH is an image folder")
      ->type_name("KIND:PATH");
  add_integer(command, "--batch", a.batch, {1, 65536}, "pictures computed at once")->capture_default_str();
  add_preprocess_options(command, a.preprocess);
  command.add_flag("--json", a.json, "for machines");
  command.footer(
      "An image folder has a folder for each class; names that are all digits are class indices, others are sorted.\n"
      "Example: fib eval --run runs/full --json\n"
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

Candidate from_weights(const EvalArguments& a) {
  models::Options options = model_options(a.model);
  const Preprocess preprocess = preprocess_options(a.preprocess, models::find_row(a.model.model));
  const DatasetPtr dataset = open_dataset(a.data, DatasetPart::test);
  options.resolution = preprocess.crop;
  options.channels = dataset->info().channels;
  LoaderOptions loading;
  loading.sampler = {.batch = static_cast<size_t>(a.batch), .shuffle = false, .drop_last = false};
  loading.workers = default_workers();
  return {.model = a.model.model,
          .attention = options.attention.to_string(),
          .data = a.data,
          .module = models::make_with_weights(a.model.model, a.model.weights, options),
          .loader = std::make_unique<Loader>(dataset, pipeline_for(a, dataset->info(), preprocess), loading)};
}

/// A run without a validation set has no best weights, one without averages no ema; what a search leaves is pruned.
std::filesystem::path weights_of(const training::RunFiles& files, const std::string& checkpoint) {
  const std::map<std::string, std::filesystem::path> known = {
      {"best", files.best()}, {"model", files.model()}, {"ema", files.ema()}};
  if (std::filesystem::exists(known.at(checkpoint))) return known.at(checkpoint);
  if (checkpoint == "best" && std::filesystem::exists(files.pruned())) return files.pruned();
  if (checkpoint == "best") return weights_of(files, std::filesystem::exists(files.ema()) ? "ema" : "model");
  throw std::runtime_error("the run in '" + files.root.string() + "' has no " +
                           known.at(checkpoint).filename().string());
}

/// As the run itself was tested: its recipe says all.
Candidate from_run(const EvalArguments& a) {
  const training::RunFiles files{a.run};
  training::Recipe recipe = files.recipe();
  if (!a.data.empty()) recipe.data = a.data;
  recipe.eval_batch = a.batch;
  const DatasetPtr dataset = open_dataset(recipe.data, DatasetPart::test);
  Candidate candidate{.model = recipe.model, .attention = recipe.attention, .data = recipe.data};
  candidate.module = models::make_with_weights(recipe.model, weights_of(files, a.checkpoint),
                                               training::model_options(recipe, dataset->info()));
  candidate.loader = training::evaluation_loader(dataset, recipe, candidate.module->dimensions().height);
  return candidate;
}

nlohmann::ordered_json evaluation_json(const Candidate& c, const training::Evaluation& e) {
  return {
      {"model", c.model}, {"attention", c.attention}, {"data", c.data}, {"images", e.images},
      {"top1", e.top1},   {"top5", e.top5},           {"loss", e.loss}, {"images_per_second", e.images_per_second()}};
}

std::string evaluation_text(const Candidate& c, const training::Evaluation& e) {
  Table table({{}, {}});
  table.add_row({"model", c.model + ", " + c.attention + " attention"});
  table.add_row({"data", fmt::format("{}, {} images", c.data, report::grouped(e.images))});
  table.add_row({"top-1", fmt::format("{:.2f} %", 100 * e.top1)});
  table.add_row({"top-5", fmt::format("{:.2f} %", 100 * e.top5)});
  table.add_row({"loss", fmt::format("{:.4f}", e.loss)});
  table.add_row({"speed", fmt::format("{:.1f} images/s", e.images_per_second())});
  return table.to_string();
}

training::Evaluation evaluate(const Candidate& candidate, bool quiet) {
  check_labels(candidate.loader->dataset(), *candidate.module);
  Progress progress("images", static_cast<int64_t>(candidate.loader->dataset().size()), quiet);
  training::ProcessGroup alone;
  return training::evaluate(*candidate.module, *candidate.loader, alone,
                            [&](int64_t done, int64_t /*total*/) { progress.show(done); });
}

void run(const EvalArguments& a, const Globals& globals) {
  if (a.run.empty() && (a.model.model.empty() || a.model.weights.empty() || a.data.empty()))
    throw std::invalid_argument("what is to be evaluated? Give --run DIR, or --model, --weights and --data");
  const Candidate candidate = a.run.empty() ? from_weights(a) : from_run(a);
  const training::Evaluation result = evaluate(candidate, globals.quiet || a.json);
  if (a.json) {
    fmt::print("{}\n", evaluation_json(candidate, result).dump());
  } else if (!globals.quiet) {
    fmt::print("{}", evaluation_text(candidate, result));
  }
}

}  // namespace

void add_eval(CLI::App& command, const Globals& globals) {
  const auto arguments = std::make_shared<EvalArguments>();
  declare(command, *arguments);
  command.callback([arguments, &globals] { run(*arguments, globals); });
}

}  // namespace fib::cli
