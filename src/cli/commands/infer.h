// SPDX-License-Identifier: Apache-2.0
// What `fib infer` can be told; cli/torch/infer.cpp does it, or cli/engine/infer.cpp.
#pragma once

#include <string>

#include "cli/engine_command.h"
#include "cli/subject_options.h"

namespace fib::cli {

struct InferArguments {
  SubjectArguments subject;
  std::string engine;
  std::string input, output, dtype = "f32";
  bool json = false;
};

inline void declare(CLI::App& command, InferArguments& a) {
  add_weights_options(command, a.subject, Subjects::one);
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
  add_integer(command, "--batch", a.subject.batch, {1, 65536}, "images computed at once")->capture_default_str();
  command.add_flag("--json", a.json, "what was computed and written, for machines");
  command.footer(
      "Images of another size than the model's are taken as they are: position embeddings are interpolated.\n"
      "Example: fib infer --model vit_tiny_patch16_224 --weights vit_tiny.safetensors --input x.npy --out logits.npy\n"
      "Example: fib infer --engine vit_tiny.fib --input x.npy --out logits.npy");
}

void infer_with_engine(const InferArguments& arguments, const Globals& globals);

inline Command infer_command() {
  return engine_or_torch_command<InferArguments, infer_with_engine>(
      {"infer", "a preprocessed array in, logits out", Topic::trained}, declare);
}

}  // namespace fib::cli
