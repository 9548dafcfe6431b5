// SPDX-License-Identifier: Apache-2.0
// All commands. Those that need torch are declared by topic in cli/commands/*.h and carried out in cli/torch; each of
// the others is a file of cli/commands.
#pragma once

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "cli/command.h"
#include "cli/commands/analyses.h"
#include "cli/commands/benchmarks.h"
#include "cli/commands/sequences.h"
#include "cli/commands/trained.h"
#include "cli/commands/training.h"

namespace fib::cli {

Command attend_command();
Command flops_command();
Command pattern_command();
Command plot_command();
Command reproduce_command();
Command runs_command();
Command serve_command();
std::vector<Command> listing_commands();
std::vector<Command> manual_commands();
std::vector<Command> simulate_commands();

/// By topic and name, groups before their parts. `Torch` carries out what needs torch: BecomesTorchProgram in `fib`.
template <class Torch>
std::vector<Command> command_table() {
  std::vector<Command> table = {
      attend_command(),    flops_command(), pattern_command(), plot_command(),
      reproduce_command(), runs_command(),  serve_command(),
  };
  for (const auto& topic :
       {training_commands<Torch>(), trained_commands<Torch>(), analysis_commands<Torch>(), benchmark_commands<Torch>(),
        sequence_commands<Torch>(), listing_commands(), manual_commands(), simulate_commands()})
    table.insert(table.end(), topic.begin(), topic.end());
  std::ranges::sort(table, {}, [](const Command& c) { return std::tuple(c.title.topic, c.title.name); });
  return table;
}

}  // namespace fib::cli
