// SPDX-License-Identifier: Apache-2.0
// What `fib eval` can be told; cli/torch/eval.cpp does it, or cli/engine/eval.cpp.
#pragma once

#include <string>

#include "cli/engine_command.h"
#include "cli/subject_options.h"

namespace fib::cli {

struct EvalArguments {
  SubjectArguments subject;
  std::string engine;
  bool json = false;
};

inline void declare(CLI::App& command, EvalArguments& a) {
  add_subject_options(command, a.subject, Subjects::one);
  add_engine_option(command, a.engine, kWeightsOptions);
  command.add_flag("--json", a.json, "for machines");
  command.footer(
      "An image folder has a folder for each class; names that are all digits are class indices, others are sorted.\n"
      "Example: fib eval --run runs/full --json\n"
      "Example: fib eval --model vit_tiny_patch16_224 --weights vit_tiny.safetensors --data folder:imagenet-val\n"
      "Example: fib eval --engine vit_tiny.fib --data folder:imagenet-val");
}

void eval_with_engine(const EvalArguments& arguments, const Globals& globals);

inline Command eval_command() {
  return engine_or_torch_command<EvalArguments, eval_with_engine>(
      {"eval", "accuracy, loss and throughput of a model on a dataset", Topic::trained}, declare);
}

}  // namespace fib::cli
