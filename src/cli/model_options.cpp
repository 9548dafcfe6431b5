// SPDX-License-Identifier: Apache-2.0
#include "cli/model_options.h"

namespace fib::cli {
namespace {

CLI::Option* add_channels(CLI::App& app, const std::string& name, std::vector<float>& target, NumberRange range,
                          const std::string& help) {
  // The word after the numbers may be an image's name.
  return app.add_option(name, target, help)
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(number_within(range))
      ->type_name("R,G,B");
}

template <class Target>
CLI::Option* add_engine(CLI::App& app, Target& target, const std::vector<const char*>& excluded) {
  CLI::Option* engine = app.add_option("--engine", target, "a file that fib compile wrote; torch is not loaded");
  engine->type_name("F.fib")->allow_extra_args(false);
  for (const char* other : excluded) engine->excludes(app.get_option(other));
  return engine;
}

}  // namespace

void add_weights_options(CLI::App& app, ModelArguments& a, HowMany models) {
  app.add_option("--weights", a.weights, "a safetensors file with timm's names; it decides the number of classes")
      ->type_name("F.safetensors");
  app.add_option("--model", a.model,
                 "the model the weights are of, as fib models lists it; weights that fib wrote say it themselves")
      ->type_name("MODEL");
  add_attention_options(app, a.attention);
  add_attention_place_options(app, a.place);
  const std::string help = "a run of fib train, instead of weights";
  CLI::Option* run = app.add_option("--run", a.runs, models == HowMany::many ? help + "; may be repeated" : help);
  run->type_name("DIR")->allow_extra_args(false);
  if (models == HowMany::one) run->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  for (const char* other : {"--model", "--weights", "--attention", "--wmin", "--wmax", "--modified", "--attention-in",
                            "--attention-layers", "--tokens"})
    app.get_option(other)->excludes(run);
  add_choice(app, "--checkpoint", a.checkpoint, {"best", "model", "ema"}, "which weights of the run")
      ->needs(run)
      ->capture_default_str();
}

void add_preprocess_options(CLI::App& app, ModelArguments& a) {
  add_integer(
      app, "--resize", a.resize, kResolutions,
      "shorter side that an image is resized to before the crop; by default as the weights say, or the crop divided by "
      "the model's ratio");
  add_integer(app, "--crop", a.crop, kResolutions,
              "side of the square that is cut from the center; by default the model's resolution");
  add_channels(app, "--mean", a.mean, {-1000, 1000},
               "mean that is subtracted from values in [0, 1]; by default that of the weights, or the model's");
  add_channels(app, "--std", a.std, {1e-6, 1000},
               "deviation that they are then divided by; by default that of the weights, or the model's");
}

void add_evaluated_model_options(CLI::App& app, ModelArguments& a, HowMany models) {
  add_weights_options(app, a, models);
  app.add_option("--data", a.data, "NAME or NAME:PATH, fib datasets lists them; folder:PATH is an image folder")
      ->type_name("DATA");
  add_integer(app, "--batch", a.batch, {1, 65536}, "number of images that are computed at once")->capture_default_str();
  add_preprocess_options(app, a);
}

CLI::Option* add_engine_option(CLI::App& app, std::string& target, const std::vector<const char*>& excluded) {
  return add_engine(app, target, excluded);
}

CLI::Option* add_engine_option(CLI::App& app, std::vector<std::string>& target,
                               const std::vector<const char*>& excluded) {
  return add_engine(app, target, excluded);
}

void add_engine_limits(CLI::App& app, EngineLimitArguments& limits) {
  CLI::Option* engine = app.get_option("--engine");
  add_number(app, "--max-memory", limits.memory, {0.001, 1e6},
             "GiB that a compiled model may take beside its file; one that needs more is refused")
      ->needs(engine)
      ->capture_default_str();
  add_number(app, "--max-work", limits.work, {1e-6, 1e6}, "multiply-adds that it may take for a sample, in 10^12")
      ->needs(engine)
      ->capture_default_str();
}

void add_analyze_options(CLI::App& app, AnalyzeArguments& a, int64_t images) {
  a.images = images;
  add_evaluated_model_options(app, a.models, HowMany::many);
  add_integer(app, "--images", a.images, {1, 10'000'000}, "number of images of the test set to look at, chosen evenly")
      ->capture_default_str();
  app.add_flag("--json", a.json, "print JSON");
}

void add_layer_option(CLI::App& app, AnalyzeArguments& a) {
  add_integer(app, "--layer", a.layer, {1, 1000}, "layer to look at, counted from 1; by default the last");
}

void add_plot_option(CLI::App& app, AnalyzeArguments& a, const std::string& help) {
  app.add_option("--plot", a.plots, help + " as .svg or .png; may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

}  // namespace fib::cli
