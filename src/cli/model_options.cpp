// SPDX-License-Identifier: Apache-2.0
#include "cli/model_options.h"

#include "attention/registry.h"

namespace fib::cli {

void add_model_options(CLI::App& app, ModelArguments& a) {
  app.add_option("--model", a.model, "a name of fib models")->type_name("NAME")->required();
  app.add_option("--weights", a.weights, "parameters with timm's names; the number of classes comes from here")
      ->type_name("F.safetensors")
      ->required();
  add_attention_options(app, a.attention);
}

models::Options model_options(const ModelArguments& a) {
  models::find_row(a.model);
  models::Options options;
  options.attention = attention_spec(a.attention);
  attention::check_spec(options.attention);
  return options;
}

}  // namespace fib::cli
