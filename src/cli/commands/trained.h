// SPDX-License-Identifier: Apache-2.0
// The commands for trained models. classify, eval and infer are written once, in commands/predict.cpp, for compiled
// models and LibTorch's; the others need torch.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/model_options.h"
#include "data/dataset.h"
#include "engine/onnx/export.h"
#include "prediction/predictor.h"
#include "report/robots/rollout_report.h"

namespace fib::cli {

/// A command that runs a compiled model where --engine names one, without torch, and else needs torch.
template <class Arguments, class Torch>
Command engine_or_torch_command(Title title) {
  return make_command<Arguments>(
      title, [](CLI::App& command, Arguments& arguments) { declare(command, arguments); },
      [](const Arguments& arguments, const Globals& globals) {
        arguments.engine.empty() ? Torch::run(arguments, globals) : run_engine(arguments, globals);
      });
}

// ---- fib classify

struct ClassifyArguments {
  ModelArguments model;
  std::string engine;
  EngineLimitArguments limits;
  std::string labels, list;
  int64_t top = 5;
  bool json = false, csv = false;
  std::vector<std::string> images;
};

inline void declare(CLI::App& command, ClassifyArguments& a) {
  add_weights_options(command, a.model, HowMany::one);
  command
      .add_option("--labels", a.labels,
                  "names of the classes: one a line, .csv with lines index,name, or .json, an array or an object by "
                  "index; by default those of the weights")
      ->type_name("FILE");
  add_integer(command, "--top", a.top, {1, 1000000}, "number of classes to show for each image")->capture_default_str();
  add_preprocess_options(command, a.model);
  add_engine_option(command, a.engine, kWeightsOptions);
  add_engine_limits(command, a.limits);
  CLI::Option* json = command.add_flag("--json", a.json, "print JSON");
  command.add_flag("--csv", a.csv, "print CSV: a line for each image and class")->excludes(json);
  command.add_option("--list", a.list, "a file that names images, one a line; - is standard input")->type_name("FILE");
  command.add_option("IMAGE", a.images,
                     "JPEG, PNG or WebP files, - is standard input; folders, with all images below them; videos where "
                     "the model takes clips");
  command.footer(
      "An image that cannot be read is reported, the others are classified, and the exit code is 1.\n"
      "Example: fib classify --run runs/full photo.jpg\n"
      "Example: fib classify --model vit_tiny_patch16_224 --weights vit_tiny.safetensors --labels classes.json a.jpg "
      "b.png\n"
      "Example: fib classify --engine vit_tiny.fib photo.jpg\n"
      "Example: fib classify --engine vit_tiny.fib --top 1 --csv photos/ > classes.csv");
}

void run(const ClassifyArguments& arguments, const Globals& globals);
void run_engine(const ClassifyArguments& arguments, const Globals& globals);
void classify(prediction::Predictor& predictor, const ClassifyArguments& arguments, const Globals& globals);

/// --labels. Throws std::runtime_error where it names more or fewer classes than there are.
std::vector<std::string> read_class_names(const std::string& file, int64_t classes);

// ---- fib eval

struct EvalArguments {
  ModelArguments model;
  std::string engine;
  EngineLimitArguments limits;
  bool json = false;
};

inline void declare(CLI::App& command, EvalArguments& a) {
  add_evaluated_model_options(command, a.model, HowMany::one);
  add_engine_option(command, a.engine, kWeightsOptions);
  add_engine_limits(command, a.limits);
  command.add_flag("--json", a.json, "print JSON");
  command.footer(
      "An image folder has a folder for each class; names that are all digits are class indices, others are sorted.\n"
      "Example: fib eval --run runs/full --json\n"
      "Example: fib eval --model vit_tiny_patch16_224 --weights vit_tiny.safetensors --data folder:imagenet-val\n"
      "Example: fib eval --engine vit_tiny.fib --data folder:imagenet-val");
}

void run(const EvalArguments& arguments, const Globals& globals);
void run_engine(const EvalArguments& arguments, const Globals& globals);
/// On the images of `dataset`, called `data`.
void evaluate(prediction::Predictor& predictor, const DatasetPtr& dataset, const std::string& data,
              const EvalArguments& arguments, const Globals& globals);

// ---- fib infer

struct InferArguments {
  ModelArguments model;
  std::string engine;
  EngineLimitArguments limits;
  std::string input, output, dtype = "f32";
  bool json = false;
};

inline void declare(CLI::App& command, InferArguments& a) {
  add_weights_options(command, a.model, HowMany::one);
  command
      .add_option("--input", a.input,
                  "preprocessed images [B,C,H,W] or clips [B,C,T,H,W], float32 or float64; - is standard input")
      ->type_name("X.npy")
      ->required();
  command.add_option("--out", a.output, "where the logits [B,classes] go; - is standard output")
      ->type_name("LOGITS.npy")
      ->required();
  add_choice(command, "--dtype", a.dtype, {"f32", "f64"}, "what is computed in and written")->capture_default_str();
  add_engine_option(command, a.engine, kWeightsOptions);
  add_engine_limits(command, a.limits);
  add_integer(command, "--batch", a.model.batch, {1, 65536}, "images computed at once")->capture_default_str();
  command.add_flag("--json", a.json, "print JSON: what was computed and written");
  command.footer(
      "Images of another size than the model's are taken as they are: position embeddings are interpolated.\n"
      "Example: fib infer --model vit_tiny_patch16_224 --weights vit_tiny.safetensors --input x.npy --out logits.npy\n"
      "Example: fib infer --engine vit_tiny.fib --input x.npy --out logits.npy");
}

void run(const InferArguments& arguments, const Globals& globals);
void run_engine(const InferArguments& arguments, const Globals& globals);
/// What takes an input of this shape.
using OpenForShape = std::function<std::unique_ptr<prediction::Predictor>(const std::vector<int64_t>& shape)>;
void infer(const InferArguments& arguments, const Globals& globals, const OpenForShape& open);

// ---- fib compile

struct CompileArguments {
  ModelArguments model;
  std::vector<int64_t> resolutions;
  std::string precision = "f32", labels, sampler, output;
  int64_t most_images = 64;
  bool random_weights = false;
};

inline void declare(CLI::App& command, CompileArguments& a) {
  add_weights_options(command, a.model, HowMany::one);
  add_integers(command, "--resolution", a.resolutions, kResolutions,
               "sides of square images, each of which gets its own steps; by default the model's own");
  add_choice(command, "--precision", a.precision, {"f32", "bf16", "int8"},
             "type of the linear layers. bf16: weights in half the room, sums in float32; int8: weights rounded per "
             "channel, activations per token. Embeddings, norms, softmax and classifier stay float32")
      ->capture_default_str();
  add_integer(command, "--batch", a.most_images, {1, 65536}, "the largest number of images at once")
      ->capture_default_str();
  command
      .add_option("--labels", a.labels,
                  "names of the classes: one a line, .csv with lines index,name, or .json, an array or an object by "
                  "index; by default those of the weights")
      ->type_name("FILE");
  command.add_flag("--random-weights", a.random_weights,
                   "without --weights or --run: compile the model with random weights from a fixed seed, to measure "
                   "its speed");
  command.add_option("--sampler", a.sampler, "of a policy: ddpm, all 100 steps, or ddim:K; by default its own")
      ->type_name("ddpm|ddim:K");
  command.add_option("-o,--out", a.output, "the file to write; - is standard output")->type_name("F.fib")->required();
  command.footer(
      "The file is all that fib classify, eval, infer and bench model need with --engine: they do not load torch.\n"
      "A run that learned a robot's task gives a policy, which fib rollout --engine plays.\n"
      "Example: fib compile --model vit_tiny_patch16_224 --weights vit_tiny.safetensors --precision int8 -o vit.fib");
}

void run(const CompileArguments& arguments, const Globals& globals);

// ---- fib export

struct ExportArguments {
  ModelArguments model;
  int64_t resolution = 0, opset = engine::kLastOpset;
  std::string precision = "f32", attention_as, output, timm;
};

inline void declare(CLI::App& command, ExportArguments& a) {
  add_weights_options(command, a.model, HowMany::one);
  add_integer(command, "--resolution", a.resolution, kResolutions,
              "side of the square image; by default the model's own");
  auto* opset = add_integer(command, "--opset", a.opset, {engine::kFirstOpset, engine::kLastOpset},
                            "version of ONNX's operators");
  opset->capture_default_str();
  auto* precision = add_choice(
      command, "--precision", a.precision, {"f32", "int8"},
      "of linear layers. int8: weights in bytes with a scale per channel, activations with one per tensor that is "
      "computed as the model runs. All else stays float32");
  precision->capture_default_str();
  auto* form =
      add_choice(command, "--attention-as", a.attention_as, {"gather", "mask"},
                 "gather: the keys of each query; mask: all pairs, and a mask. Without it what takes fewer bytes");
  auto* out = command.add_option("-o,--out", a.output, "the ONNX file to write; - is standard output");
  out->type_name("F.onnx");
  command
      .add_option("--timm", a.timm,
                  "write a folder that timm loads instead, with timm.create_model('local-dir:DIR', pretrained=True): "
                  "config.json and model.safetensors")
      ->type_name("DIR")
      ->excludes(out)
      ->excludes(opset)
      ->excludes(precision)
      ->excludes(form);
  command.footer(
      "ONNX: standard operators alone; the input is images [batch,C,H,W] or clips [batch,C,T,H,W], preprocessed, the "
      "output logits [batch,classes].\n"
      "timm: ViT and DeiT; the model there has dense attention until fibottention.convert gives it the one named in "
      "config.json.\n"
      "Example: fib export --model vit_tiny_patch16_224 --weights vit_tiny.safetensors -o vit.onnx\n"
      "Example: fib export --model vit_tiny_patch16_224 --weights vit_tiny.safetensors --precision int8 -o vit.onnx\n"
      "Example: fib export --run runs/full --timm vit-full");
}

void run(const ExportArguments& arguments, const Globals& globals);

// ---- fib fit

struct FitArguments {
  AnalyzeArguments measured;
  std::string keep = "8%", shape = "free", output;
};

inline void declare(CLI::App& command, FitArguments& a) {
  add_analyze_options(command, a.measured, 48);
  command.add_option("--keep", a.keep, "share of all pairs of patches that each head may keep, such as 8% or 0.08")
      ->capture_default_str()
      ->type_name("SHARE");
  add_choice(command, "--shape", a.shape, {"free", "window", "array"},
             "free: the offsets with the most attention for each of their pairs; window: all up to one; array: a row "
             "of the Wythoff array for each head, given to the heads so that the layer keeps the most")
      ->capture_default_str();
  command.add_option("-o,--out", a.output, "the file to write, for --attention offsets:FILE")
      ->type_name("FILE")
      ->required();
  command.footer(
      "Looks where the heads of a dense model look, and leaves each the same number of pairs.\n"
      "Example: fib fit --model vit_tiny_patch16_224 --weights W.safetensors --data folder:IMAGES --keep 8% -o "
      "vit.offsets");
}

void run(const FitArguments& arguments, const Globals& globals);

// ---- fib report

struct ReportArguments {
  std::vector<std::string> directories;
  std::string out, title = "Training runs", checkpoint = "best";
  int64_t images = 2000, samples = 4;
  bool json = false;
};

inline void declare(CLI::App& command, ReportArguments& a) {
  command.add_option("DIR", a.directories, "directories of finished runs; others are compared with the first")
      ->required()
      ->expected(1, 16);
  command.add_option("-o,--out", a.out, "the page to write; - is standard output")->required()->type_name("F.html");
  command.add_option("--title", a.title, "its heading")->capture_default_str();
  add_choice(command, "--checkpoint", a.checkpoint, {"best", "model", "ema"}, "which weights of the runs")
      ->capture_default_str();
  add_integer(command, "--images", a.images, {1, 10'000'000}, "test images for confusion and mistakes")
      ->capture_default_str();
  add_integer(command, "--samples", a.samples, {1, 32}, "images with attention maps")->capture_default_str();
  command.add_flag("--json", a.json, "print JSON: what was written and the metrics of the runs");
  command.footer("Example: fib report runs/full runs/fibottention -o report.html");
}

void run(const ReportArguments& arguments, const Globals& globals);

// ---- fib rollout

struct RolloutArguments {
  std::string run, engine, sampler, video;
  EngineLimitArguments limits;
  int64_t episodes = 50, seed = 100000;
  bool json = false;
};

inline void declare(CLI::App& command, RolloutArguments& a) {
  command.add_option("--run", a.run, "directory of a run that learned a robot's task")->type_name("DIR");
  add_integer(command, "--episodes", a.episodes, {1, 10'000}, "played side by side, in one batch")
      ->capture_default_str();
  add_integer(command, "--seed", a.seed, {0, std::numeric_limits<uint32_t>::max() - 10'000},
              "seed of the first episode; each has the next one")
      ->capture_default_str();
  command.add_option("--sampler", a.sampler, "ddpm: all 100 steps, or ddim:K; the policy's own unless given")
      ->type_name("ddpm|ddim:K");
  add_engine_option(command, a.engine, {"--run", "--sampler"});
  add_engine_limits(command, a.limits);
  command.add_option("--video", a.video, "the worst, the median and the best episode, one after the other")
      ->type_name("F.mp4");
  command.add_flag("--json", a.json, "print JSON");
  command.footer(
      "A compiled policy has its sampler built in.\n"
      "Example: fib rollout --run runs/pusht --sampler ddim:16 --video play.mp4\n"
      "Example: fib rollout --engine policy.fib");
}

void run(const RolloutArguments& arguments, const Globals& globals);
void run_engine(const RolloutArguments& arguments, const Globals& globals);
/// The player plays and `told`, which lacks what it did, is shown.
void roll_out(robots::Player& player, const robots::Robot& robot, const RolloutArguments& arguments,
              const Globals& globals, report::RolloutReport told);

template <class Torch>
std::vector<Command> trained_commands() {
  return {
      engine_or_torch_command<ClassifyArguments, Torch>(
          {"classify", "what is in an image or a clip: the most probable classes", Topic::trained}),
      engine_or_torch_command<EvalArguments, Torch>(
          {"eval", "accuracy, loss and throughput of a model on a dataset", Topic::trained}),
      engine_or_torch_command<InferArguments, Torch>({"infer", "a preprocessed array in, logits out", Topic::trained}),
      torch_command<CompileArguments, Torch>(
          {"compile", "a trained model as one file that runs without torch", Topic::trained}),
      torch_command<ExportArguments, Torch>(
          {"export", "a trained model as an ONNX file, or a folder for timm", Topic::trained}),
      torch_command<FitArguments, Torch>(
          {"fit", "which offsets keep most of a dense model's attention", Topic::trained}),
      torch_command<ReportArguments, Torch>(
          {"report", "one page about runs: tables, curves, maps, mistakes", Topic::trained}),
      engine_or_torch_command<RolloutArguments, Torch>(
          {"rollout", "a trained policy plays, and is scored", Topic::trained})};
}

}  // namespace fib::cli
