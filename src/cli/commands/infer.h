// SPDX-License-Identifier: Apache-2.0
// What `fib infer` can be told; cli/torch/infer.cpp does it.
#pragma once

#include <string>

#include "cli/command.h"
#include "cli/subject_options.h"

namespace fib::cli {

struct InferArguments {
  SubjectArguments subject;
  std::string input, output, dtype = "f32";
};

inline void declare(CLI::App& command, InferArguments& a) {
  add_weights_options(command, a.subject, Subjects::one);
  command.add_option("--input", a.input, "preprocessed images [B,C,H,W], float32 or float64")
      ->type_name("X.npy")
      ->required();
  command.add_option("--out", a.output, "where the logits [B,classes] go")->type_name("LOGITS.npy")->required();
  command.add_option("--dtype", a.dtype, "what is computed in and written")
      ->check(CLI::IsMember({"f32", "f64"}))
      ->type_name("f32|f64")
      ->capture_default_str();
  add_integer(command, "--batch", a.subject.batch, {1, 65536}, "images computed at once")->capture_default_str();
  command.footer(
      "Images of another size than the model's are taken as they are: position embeddings are interpolated.\n"
      "Example: fib infer --model vit_tiny_patch16_224 --weights vit_tiny.safetensors --input x.npy --out logits.npy");
}

inline Command infer_command() {
  return torch_command<InferArguments>({"infer", "a preprocessed array in, logits out", Topic::trained}, declare);
}

}  // namespace fib::cli
