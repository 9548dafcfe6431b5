// SPDX-License-Identifier: Apache-2.0
// What `fib simulate pusht` can be told.
#pragma once

#include <string>

#include "cli/command.h"

namespace fib::cli {

struct SimulatePushtArguments {
  std::string replay;  ///< zarr:DIR
  bool play = false;
  std::string actions = "random";
  int64_t episodes = 50, seed = 100000;
  int64_t shown = 0;  ///< the episode of --video and --png
  std::string video, png;
  bool json = false;
};

/// In cli/robots; where a package was missing when the program was built, in cli/without_robots.
void simulate_pusht(const SimulatePushtArguments& arguments, const Globals& globals);

}  // namespace fib::cli
