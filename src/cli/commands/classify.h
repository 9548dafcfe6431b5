// SPDX-License-Identifier: Apache-2.0
// What `fib classify` can be told; cli/torch/classify.cpp does it.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/subject_options.h"

namespace fib::cli {

struct ClassifyArguments {
  SubjectArguments subject;
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
  command.add_flag("--json", a.json, "for machines");
  command.add_option("IMAGE", a.images, "JPEG, PNG or WebP")->required()->type_name("");
  command.footer(
      "An image that cannot be read is reported, the others are classified, and the exit code is 1.\n"
      "Example: fib classify --run runs/full photo.jpg\n"
      "Example: fib classify --model vit_tiny_patch16_224 --weights vit_tiny.safetensors --labels classes.json a.jpg "
      "b.png");
}

inline Command classify_command() {
  return torch_command<ClassifyArguments>(
      {"classify", "what is in an image: the most probable classes", Topic::trained}, declare);
}

}  // namespace fib::cli
