// SPDX-License-Identifier: Apache-2.0
// Each command's face to the table in main.cpp; the rest of it is its own file.
#pragma once

#include "cli/app.h"

namespace fib::cli {

void add_pattern(CLI::App& command, const Globals& globals);
void add_attend(CLI::App& command, const Globals& globals);
void add_attentions(CLI::App& command, const Globals& globals);
void add_models(CLI::App& command, const Globals& globals);
void add_flops(CLI::App& command, const Globals& globals);
void add_datasets(CLI::App& command, const Globals& globals);
void add_runs(CLI::App& command, const Globals& globals);
void add_reproduce(CLI::App& command, const Globals& globals);

}  // namespace fib::cli
