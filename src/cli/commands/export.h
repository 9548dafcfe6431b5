// SPDX-License-Identifier: Apache-2.0
// What `fib export` can be told; cli/torch/export.cpp does it.
#pragma once

#include <string>

#include "cli/command.h"
#include "cli/subject_options.h"
#include "engine/onnx/export.h"

namespace fib::cli {

struct ExportArguments {
  SubjectArguments subject;
  int64_t resolution = 0, opset = engine::kLastOpset;
  std::string attention_as, output;
};

inline void declare(CLI::App& command, ExportArguments& a) {
  add_weights_options(command, a.subject, Subjects::one);
  add_integer(command, "--resolution", a.resolution, kResolutions, "side of the square image; the model's own");
  add_integer(command, "--opset", a.opset, {engine::kFirstOpset, engine::kLastOpset}, "version of ONNX's operators")
      ->capture_default_str();
  add_choice(command, "--attention-as", a.attention_as, {"gather", "mask"},
             "gather: the keys of each query; mask: all pairs, and a mask. Without it what takes fewer bytes");
  command.add_option("-o,--out", a.output, "the file to write; - is standard output")->type_name("F.onnx")->required();
  command.footer(
      "Standard operators alone; the input is images [batch,C,H,W] or clips [batch,C,T,H,W], preprocessed, the output "
      "logits [batch,classes].\n"
      "Example: fib export --model vit_tiny_patch16_224 --weights vit_tiny.safetensors -o vit.onnx");
}

inline Command export_command() {
  return torch_command<ExportArguments>({"export", "a trained model as an ONNX file", Topic::trained}, declare);
}

}  // namespace fib::cli
