// SPDX-License-Identifier: Apache-2.0
#include "cli/subject_options.h"

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

}  // namespace

void add_weights_options(CLI::App& app, SubjectArguments& a, Subjects subjects) {
  app.add_option("--weights", a.weights, "parameters with timm's names; the number of classes comes from here")
      ->type_name("F.safetensors");
  app.add_option("--model", a.model, "a name of fib models; weights that fib has written tell it")->type_name("MODEL");
  add_attention_options(app, a.attention);
  add_attention_place_options(app, a.place);
  const std::string help = "a run of fib train, instead of weights";
  CLI::Option* run = app.add_option("--run", a.runs, subjects == Subjects::many ? help + "; may be repeated" : help);
  run->type_name("DIR")->allow_extra_args(false);
  if (subjects == Subjects::one) run->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  for (const char* other : {"--model", "--weights", "--attention", "--wmin", "--wmax", "--modified", "--attention-in",
                            "--attention-layers"})
    app.get_option(other)->excludes(run);
  add_choice(app, "--checkpoint", a.checkpoint, {"best", "model", "ema"}, "which weights of the run")
      ->needs(run)
      ->capture_default_str();
}

void add_preprocess_options(CLI::App& app, SubjectArguments& a) {
  add_integer(app, "--resize", a.resize, kResolutions,
              "shorter side before the crop; as the weights tell, or the crop divided by the model's ratio");
  add_integer(app, "--crop", a.crop, kResolutions, "side of the square cut from the center; the model's resolution");
  add_channels(app, "--mean", a.mean, {-1000, 1000},
               "subtracted from values in [0, 1]; as the weights tell, or the model's");
  add_channels(app, "--std", a.std, {1e-6, 1000}, "what they are divided by then; as the weights tell, or the model's");
}

void add_subject_options(CLI::App& app, SubjectArguments& a, Subjects subjects) {
  add_weights_options(app, a, subjects);
  app.add_option("--data", a.data, "NAME or NAME:PATH, fib datasets lists them; folder:PATH is an image folder")
      ->type_name("DATA");
  add_integer(app, "--batch", a.batch, {1, 65536}, "images computed at once")->capture_default_str();
  add_preprocess_options(app, a);
}

}  // namespace fib::cli
