// SPDX-License-Identifier: Apache-2.0
// What `fib eval` can be told; cli/torch/eval.cpp does it.
#pragma once

#include "cli/command.h"
#include "cli/subject_options.h"

namespace fib::cli {

struct EvalArguments {
  SubjectArguments subject;
  bool json = false;
};

inline void declare(CLI::App& command, EvalArguments& a) {
  add_subject_options(command, a.subject, Subjects::one);
  command.add_flag("--json", a.json, "for machines");
  command.footer(
      "An image folder has a folder for each class; names that are all digits are class indices, others are sorted.\n"
      "Example: fib eval --run runs/full --json\n"
      "Example: fib eval --model vit_tiny_patch16_224 --weights vit_tiny.safetensors --data folder:imagenet-val");
}

inline Command eval_command() {
  return torch_command<EvalArguments>({"eval", "accuracy, loss and throughput of a model on a dataset", Topic::trained},
                                      declare);
}

}  // namespace fib::cli
