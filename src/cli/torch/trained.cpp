// SPDX-License-Identifier: Apache-2.0
// The commands of commands/trained.h with LibTorch. What classify, eval and infer do is in commands/predict.cpp.
#include "cli/commands/trained.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "base/atomic_file.h"
#include "base/json.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/standard_streams.h"
#include "cli/torch/open_models.h"
#include "cli/torch/sequences/compile.h"
#include "engine/limits.h"
#include "engine/lower.h"
#include "engine/onnx/export.h"
#include "engine/torch/record.h"
#include "models/kinds.h"
#include "models/torch/weights.h"
#include "report/robots/rollout_report.h"
#include "report/text.h"
#include "robots/play/compiled_policy.h"
#include "robots/torch/rollout.h"
#include "training/run/directory.h"
#include "training/torch/task.h"

namespace fib::cli {

// ---- fib classify, fib eval, fib infer

using training::TorchPredictor;
using training::TrainedModel;

void run(const ClassifyArguments& a, const Globals& globals) {
  training::ModelRequest request = model_request(a.model);
  request.without_images = true;
  const TrainedModel model = open_model(request, globals.quiet);
  TorchPredictor predictor(model);
  classify(predictor, a, globals);
}

void run(const EvalArguments& a, const Globals& globals) {
  const TrainedModel model = open_models(a.model, globals.quiet).front();
  TorchPredictor predictor(model);
  evaluate(predictor, model.dataset, model.data, a, globals);
}

void run(const InferArguments& a, const Globals& globals) {
  training::ModelRequest request = model_request(a.model);
  request.without_images = true;
  request.double_precision = a.dtype == "f64";
  TrainedModel model;
  infer(a, globals, [&](const std::vector<int64_t>& shape) {
    request.input = training::InputShape{shape[1], shape[shape.size() - 2], shape.back()};
    if (shape.size() == 5) request.input->frames = shape[2];
    model = open_model(request, globals.quiet);
    return std::make_unique<TorchPredictor>(model);
  });
}

// ---- fib compile, fib export

namespace {

models::ModelCard card_of(const training::TrainedModel& model) {
  models::ModelCard card;
  card.model = model.model, card.attention = model.attention;
  card.resolution = model.view.input_size, card.channels = model.view.channels;
  card.mean = model.view.mean, card.std = model.view.std, card.crop_ratio = model.view.crop_ratio;
  card.class_names = model.class_names;
  const models::Dimensions& dims = model.module->dimensions();
  card.attention_layers = models::layers_text(dims.options.attention_layers);
  card.tokens = dims.options.tokens.to_string();
  if (!dims.takes_clips()) return card;
  card.frames = dims.frames(), card.attention_in = models::to_string(dims.options.attention_in);
  card.sampling_rate = model.view.clip.rate, card.crops = model.view.views;
  return card;
}

/// A model as it is made, with parameters from a fixed seed.
training::TrainedModel random_model(const CompileArguments& a, int64_t resolution) {
  if (a.model.model.empty())
    throw std::invalid_argument("which model? Give --run DIR, --weights F.safetensors, or --model for random weights");
  const models::ModelRow& row = models::find_row(a.model.model);
  models::ModelCard card = models::published_card(row);
  if (!a.model.attention.attention.empty()) card.attention = attention_spec(a.model.attention).to_string();
  card.attention_in = a.model.place.attention_in;
  card.attention_layers = a.model.place.attention_layers;
  card.tokens = models::TokenReduction::parse(a.model.place.tokens).to_string();
  if (resolution > 0) card.resolution = resolution;
  torch::manual_seed(0);
  training::TrainedModel model;
  model.model = card.model, model.attention = card.attention;
  model.module = models::make(card.model, models::options_of(card));
  model.module->eval();
  model.view.input_size = static_cast<int>(card.resolution);
  model.view.channels = static_cast<int>(card.channels);
  model.view.mean = card.mean, model.view.std = card.std, model.view.crop_ratio = card.crop_ratio;
  model.view.views = static_cast<int>(std::max<int64_t>(card.crops, 1));
  if (card.sampling_rate > 0) model.view.clip.rate = static_cast<int>(card.sampling_rate);
  return model;
}

/// The model at one size; 0 is its own.
training::TrainedModel model_at(const CompileArguments& a, int64_t resolution, bool quiet) {
  const bool unset = a.model.weights.empty() && a.model.runs.empty();
  if (unset && !a.random_weights)
    throw std::invalid_argument(
        "which weights? Give --run DIR or --weights F.safetensors; --random-weights compiles a model that only its "
        "speed is measured of");
  if (unset) return random_model(a, resolution);
  training::ModelRequest request = model_request(a.model);
  request.crop = resolution;
  request.without_images = true;
  return open_model(request, quiet);
}

engine::AttentionForm form_of(const std::string& name) {
  if (name == "gather") return engine::AttentionForm::gather;
  return name == "mask" ? engine::AttentionForm::mask : engine::AttentionForm::smaller;
}

/// --run names a robot's task.
bool is_policy(const CompileArguments& a) {
  return a.model.runs.size() == 1 && robots::is_robot(training::RunFiles{a.model.runs[0]}.recipe().run.task);
}

void check_policy_options(const CompileArguments& a) {
  const auto refuse = [](const char* option) {
    throw std::invalid_argument(
        fmt::format("{} is of classifiers; a run that learned a robot's task has none", option));
  };
  if (!a.resolutions.empty()) refuse("--resolution");
  if (!a.labels.empty()) refuse("--labels");
  if (a.precision != "f32")
    throw std::invalid_argument(fmt::format("--precision {}: policies are compiled in f32", a.precision));
}

engine::FibContent compiled_policy(const CompileArguments& a, engine::TensorStore& tensors) {
  check_policy_options(a);
  const robots::TrainedPolicy trained = robots::open_policy(a.model.runs[0]);
  const robots::Policy& row = trained.policy->row();
  const std::string sampler = a.sampler.empty() ? row.sampler : a.sampler;
  engine::FibContent content;
  content.card = {{"model", row.name}, {"attention", trained.recipe.model.attention}};
  robots::interface_of(row, trained.robot().name, sampler).add_to(content.card);
  content.programs.push_back(engine::lower(robots::record_policy(trained, sampler), content.precision, tensors));
  return content;
}

}  // namespace

void run(const CompileArguments& a, const Globals& globals) {
  if (compiles_text(a)) return compile_text(a, globals);
  StandardStreams streams;
  const std::string out = streams.output("--out", a.output, ".fib");
  check_ending("--out", out, ".fib");
  check_writable(out);
  engine::TensorStore tensors;
  const at::NoGradGuard no_grad;
  engine::FibContent content;
  if (is_policy(a)) {
    content = compiled_policy(a, tensors);
    engine::write_fib(out, content, tensors.views());
    say_compiled(out, content, globals.quiet || streams.output_used());
    return streams.finish();
  }
  if (!a.sampler.empty()) throw std::invalid_argument("--sampler is of policies; this is a classifier");
  content.precision = engine::precision_named(a.precision), content.most_samples = a.most_images;
  for (const int64_t resolution : a.resolutions.empty() ? std::vector<int64_t>{0} : a.resolutions) {
    training::TrainedModel model = model_at(a, resolution, globals.quiet);
    if (!a.labels.empty()) model.class_names = read_class_names(a.labels, model.module->dimensions().row.classes);
    if (content.card.empty()) content.card = models::to_metadata(card_of(model));
    content.programs.push_back(engine::lower(engine::record(*model.module), content.precision, tensors));
  }
  engine::write_fib(out, content, tensors.views());
  say_compiled(out, content, globals.quiet || streams.output_used());
  streams.finish();
}

// ---- fib export: a folder that timm loads, timm.create_model("local-dir:DIR", pretrained=True)

namespace {

using TimmJson = nlohmann::ordered_json;

/// What timm's VisionTransformer is made of; everything is given, so that the architecture's own sizes do not matter.
TimmJson timm_arguments(const models::Dimensions& d) {
  return {{"img_size", {d.height, d.width}},
          {"patch_size", d.row.patch},
          {"in_chans", d.options.channels},
          {"embed_dim", d.row.dim},
          {"depth", d.row.depth},
          {"num_heads", d.row.heads},
          {"global_pool", d.options.pool == models::Pool::mean ? "avg" : "token"}};
}

TimmJson timm_preprocessing(const training::TrainedModel& model, const models::Dimensions& d) {
  return {{"input_size", {d.options.channels, d.height, d.width}},
          {"fixed_input_size", true},
          {"interpolation", "bicubic"},
          {"crop_pct", model.view.crop_ratio},
          {"crop_mode", "center"},
          {"mean", model.view.mean},
          {"std", model.view.std},
          {"num_classes", d.row.classes},
          {"first_conv", "patch_embed.proj"},
          {"classifier", "head"}};
}

/// The arguments of fibottention.convert.
TimmJson timm_conversion(const training::TrainedModel& model, const models::Dimensions& d) {
  TimmJson arguments{{"attention", model.attention}};
  if (!d.options.attention_layers.empty()) arguments["layers"] = d.options.attention_layers;
  return arguments;
}

/// Of timm's models one that is a VisionTransformer: a small model of ours has no name there.
std::string timm_architecture(const models::ModelRow& row) {
  const bool known = row.group == models::ModelGroup::published && row.name.ends_with("_224");
  return known ? row.name : "vit_tiny_patch16_224";
}

TimmJson timm_config(const training::TrainedModel& model) {
  const models::Dimensions& d = model.module->dimensions();
  TimmJson json{{"architecture", timm_architecture(d.row)},
                {"num_classes", d.row.classes},
                {"num_features", d.row.dim},
                {"model_args", timm_arguments(d)},
                {"fibottention", timm_conversion(model, d)}};
  if (!model.class_names.empty()) json["label_names"] = model.class_names;
  json["pretrained_cfg"] = timm_preprocessing(model, d);
  return json;
}

void make_timm_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!std::filesystem::is_directory(folder))
    throw std::runtime_error(fmt::format("{}: {}", folder.string(), error ? error.message() : "is no directory"));
}

/// Throws for a model that timm's VisionTransformer cannot be.
void check_timm(const training::TrainedModel& model) {
  const models::Dimensions& d = model.module->dimensions();
  if (d.row.kind != &models::kVit)
    throw std::invalid_argument(
        fmt::format("--timm writes models that timm's VisionTransformer can be: vit_… and deit_…, got {} ({})",
                    d.row.name, d.row.kind->name));
  if (!d.options.widths.empty())
    throw std::invalid_argument("--timm: blocks of a pruned model have widths of their own, which timm's have not");
  if (d.options.tokens)
    throw std::invalid_argument(
        fmt::format("--timm: timm's models keep all tokens, and this one has tokens {}", d.options.tokens.to_string()));
}

/// model.safetensors, with timm's names, and then config.json, without which the folder is none.
void write_timm_folder(const training::TrainedModel& model, const std::filesystem::path& folder) {
  check_timm(model);
  make_timm_folder(folder);
  models::save_weights(*model.module, folder / "model.safetensors");
  write_file_atomically(folder / "config.json", timm_config(model).dump(2) + "\n");
}

void export_timm(const ExportArguments& a, const training::TrainedModel& model, const Globals& globals) {
  write_timm_folder(model, a.timm);
  say_written(a.timm, globals.quiet, fmt::format("({} with {}, for timm)", model.model, model.attention));
}

void export_onnx(const ExportArguments& a, const training::ModelRequest& request, const Globals& globals) {
  StandardStreams streams;
  const std::string out = streams.output("--out", a.output, ".onnx");
  check_ending("--out", out, ".onnx");
  check_writable(out);
  const training::TrainedModel model = open_model(request, globals.quiet);
  engine::OnnxOptions options;
  options.opset = a.opset;
  options.form = {form_of(a.attention_as), a.precision == "int8"};
  options.metadata = {{"model", model.model},
                      {"attention", model.attention},
                      {"precision", a.precision},
                      {"input", model.input_text()}};
  engine::write_onnx(engine::record(*model.module), out, options);
  say_written(out, globals.quiet || streams.output_used(),
              fmt::format("({} with {}, {}, {})", model.model, model.attention, a.precision,
                          report::bytes(static_cast<int64_t>(std::filesystem::file_size(out)))));
  streams.finish();
}

}  // namespace

void run(const ExportArguments& a, const Globals& globals) {
  if (a.output.empty() && a.timm.empty())
    throw std::invalid_argument("export where? Give -o F.onnx, or --timm DIR for a folder that timm loads");
  training::ModelRequest request = model_request(a.model);
  request.crop = a.resolution;
  request.without_images = true;
  if (a.timm.empty()) return export_onnx(a, request, globals);
  export_timm(a, open_model(request, globals.quiet), globals);
}

// ---- fib rollout

void run(const RolloutArguments& a, const Globals& globals) {
  if (a.run.empty()) throw std::invalid_argument("which policy? Give --run DIR or --engine F.fib");
  const robots::TrainedPolicy opened = robots::open_policy(a.run);
  const training::ModelSettings& model = opened.recipe.model;
  const std::string sampler = a.sampler.empty() ? opened.policy->row().sampler : a.sampler;
  const training::EvalMode eval_mode(*opened.policy);
  robots::TorchPlayer player(*opened.policy, opened.normalizer, sampler);
  roll_out(player, opened.robot(), a, globals,
           {fmt::format("{} with {}, {}", model.name, model.attention, opened.weights),
            opened.robot().name,
            a.seed,
            sampler,
            {}});
}

}  // namespace fib::cli
