// SPDX-License-Identifier: Apache-2.0
// What `fib compile` can be told; cli/torch/compile.cpp does it.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/subject_options.h"

namespace fib::cli {

struct CompileArguments {
  SubjectArguments subject;
  std::vector<int64_t> resolutions;
  std::string precision = "f32", labels, output;
  int64_t most_images = 64;
};

inline void declare(CLI::App& command, CompileArguments& a) {
  add_weights_options(command, a.subject, Subjects::one);
  add_integers(command, "--resolution", a.resolutions, kResolutions,
               "sides of square images, each gets its own steps; the model's own");
  add_choice(command, "--precision", a.precision, {"f32", "bf16", "int8"},
             "of linear layers. bf16: weights in half the room, sums in float32; int8: weights per channel, "
             "activations per token. Embeddings, norms, softmax and classifier stay float32")
      ->capture_default_str();
  add_integer(command, "--batch", a.most_images, {1, 65536}, "the largest number of images at once")
      ->capture_default_str();
  command
      .add_option("--labels", a.labels,
                  "names of the classes: a JSON array, or an object by index; those of the weights")
      ->type_name("F.json");
  command.add_option("-o,--out", a.output, "the file to write; - is standard output")->type_name("F.fib")->required();
  command.footer(
      "The file is all that fib classify, eval, infer and bench model need with --engine: they do not load torch.\n"
      "A model without weights gets random ones, drawn from a fixed seed: enough to measure its speed.\n"
      "Example: fib compile --model vit_tiny_patch16_224 --weights vit_tiny.safetensors --precision int8 -o vit.fib");
}

inline Command compile_command() {
  return torch_command<CompileArguments>(
      {"compile", "a trained model as one file that runs without torch", Topic::trained}, declare);
}

}  // namespace fib::cli
