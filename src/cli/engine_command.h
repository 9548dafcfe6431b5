// SPDX-License-Identifier: Apache-2.0
// Commands that run a compiled model where --engine names one, without torch, and else need torch.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace fib::cli {

/// kEngine is called in `fib` itself where `arguments.engine` is given.
template <class Arguments, Runner<Arguments> kEngine>
Command engine_or_torch_command(Title title, void (*declare)(CLI::App&, Arguments&)) {
  return make_command<Arguments>(title, declare, [](const Arguments& arguments, const Globals& globals) {
    if (!arguments.engine.empty()) return kEngine(arguments, globals);
    if (TorchRunner<Arguments>::run == nullptr) become_torch_program(globals.argv);
    TorchRunner<Arguments>::run(arguments, globals);
  });
}

/// --engine, which leaves nothing to say about weights or attention.
template <class Target>
CLI::Option* add_engine_option(CLI::App& command, Target& target, const std::vector<const char*>& excluded) {
  CLI::Option* engine = command.add_option("--engine", target, "a compiled model of fib compile; torch is not loaded");
  engine->type_name("F.fib")->allow_extra_args(false);
  for (const char* other : excluded) engine->excludes(command.get_option(other));
  return engine;
}

inline const std::vector<const char*> kWeightsOptions{"--weights",   "--model",        "--run",
                                                      "--attention", "--wmin",         "--wmax",
                                                      "--modified",  "--attention-in", "--attention-layers"};

}  // namespace fib::cli
