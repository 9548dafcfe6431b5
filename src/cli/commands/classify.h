// SPDX-License-Identifier: Apache-2.0
// What `fib classify` can be told; cli/torch/classify.cpp does it, or cli/engine/classify.cpp.
#pragma once

#include <string>
#include <vector>

#include "cli/engine_command.h"
#include "cli/subject_options.h"

namespace fib::cli {

struct ClassifyArguments {
  SubjectArguments subject;
  std::string engine;
  std::string labels;
  int64_t top = 5;
  bool json = false;
  std::vector<std::string> images;
};

inline void declare(CLI::App& command, ClassifyArguments& a) {
  add_weights_options(command, a.subject, Subjects::one);
  command
      .add_option("--labels", a.labels,
                  "names of the classes: a JSON array, or an object by index; those of the weights")
      ->type_name("F.json");
  add_integer(command, "--top", a.top, {1, 1000000}, "classes to show per image")->capture_default_str();
  add_preprocess_options(command, a.subject);
  add_engine_option(command, a.engine, kWeightsOptions);
  command.add_flag("--json", a.json, "for machines");
  command.add_option("IMAGE", a.images, "JPEG, PNG or WebP, - is standard input; videos where the model takes clips")
      ->required();
  command.footer(
      "An image that cannot be read is reported, the others are classified, and the exit code is 1.\n"
      "Example: fib classify --run runs/full photo.jpg\n"
      "Example: fib classify --model vit_tiny_patch16_224 --weights vit_tiny.safetensors --labels classes.json a.jpg "
      "b.png\n"
      "Example: fib classify --engine vit_tiny.fib photo.jpg");
}

void classify_with_engine(const ClassifyArguments& arguments, const Globals& globals);

inline Command classify_command() {
  return engine_or_torch_command<ClassifyArguments, classify_with_engine>(
      {"classify", "what is in an image or a clip: the most probable classes", Topic::trained}, declare);
}

}  // namespace fib::cli
