// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/rollout.h"

#include <stdexcept>

#include "robots/robot.h"
#include "training/torch/task.h"

namespace fib::cli {
namespace {

[[noreturn]] void refuse_robots() {
  throw std::runtime_error("this fib was built without " FIB_ROBOTS_MISSING "; install it and build again");
}

const TorchRunner<RolloutArguments> rollout_runner([](const RolloutArguments&, const Globals&) { refuse_robots(); });

const bool tasks_are_explained = [] {
  for (const robots::Robot& robot : robots::robots()) {
    training::add_task(
        {robot.name, robot.help + "; not in this build",
         [](const training::Recipe&, const training::RankInfo&) -> training::Experiment { refuse_robots(); }});
  }
  return true;
}();

}  // namespace
}  // namespace fib::cli
