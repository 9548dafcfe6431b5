// SPDX-License-Identifier: Apache-2.0
// What `fib rollout` can be told; cli/torch/robots/rollout.cpp does it.
#pragma once

#include <limits>
#include <string>

#include "cli/command.h"
#include "cli/options.h"

namespace fib::cli {

struct RolloutArguments {
  std::string run, sampler, video;
  int64_t episodes = 50, seed = 100000;
  bool json = false;
};

inline void declare(CLI::App& command, RolloutArguments& a) {
  command.add_option("--run", a.run, "directory of a run that learned a robot's task")->required()->type_name("DIR");
  add_integer(command, "--episodes", a.episodes, {1, 10'000}, "played side by side, in one batch")
      ->capture_default_str();
  add_integer(command, "--seed", a.seed, {0, std::numeric_limits<uint32_t>::max() - 10'000},
              "of the first episode; each has the next one")
      ->capture_default_str();
  command.add_option("--sampler", a.sampler, "ddpm: all 100 steps, or ddim:K; the policy's own unless given")
      ->type_name("ddpm|ddim:K");
  command.add_option("--video", a.video, "the worst, the median and the best episode, one after the other")
      ->type_name("F.mp4");
  command.add_flag("--json", a.json, "for machines");
  command.footer("Example: fib rollout --run runs/pusht --sampler ddim:16 --video play.mp4");
}

inline Command rollout_command() {
  return torch_command<RolloutArguments>({"rollout", "a trained policy plays, and is scored", Topic::trained}, declare);
}

}  // namespace fib::cli
