// SPDX-License-Identifier: Apache-2.0
// The commands that need torch, listed once: `fib` shows them and becomes fib-torch, which carries them out.
#pragma once

#include "cli/app.h"

namespace fib::cli {

struct CommandTitle {
  const char* name;
  const char* summary;
};

namespace titles {
inline constexpr CommandTitle train{"train", "train a model, or continue where a run was left"};
inline constexpr CommandTitle prune{"prune", "make a smaller model of a trained one"};
inline constexpr CommandTitle infer{"infer", "a preprocessed array in, logits out"};
inline constexpr CommandTitle classify{"classify", "what is in a picture: the most probable classes"};
inline constexpr CommandTitle eval{"eval", "accuracy, loss and throughput of a model on a dataset"};
inline constexpr CommandTitle bench{"bench", "measure speed and memory: attention alone, or whole models"};
inline constexpr CommandTitle analyze{"analyze", "the paper's analyses: diversity, inductive bias, maps, corruptions"};
inline constexpr CommandTitle report{"report", "one page about runs: tables, curves, maps, mistakes"};
}  // namespace titles

/// The row of fib-torch.
inline Command in_this_program(const CommandTitle& title, void (*add)(CLI::App&, const Globals&)) {
  return {title.name, title.summary, add};
}
/// The row of `fib`: no options of its own.
inline Command in_torch_program(const CommandTitle& title) { return {title.name, title.summary, nullptr}; }

}  // namespace fib::cli
