// SPDX-License-Identifier: Apache-2.0
// What fib compile does with a run that learned sequences.
#pragma once

#include "cli/commands/trained.h"
#include "engine/fib_file.h"

namespace fib::cli {

/// Whether the run that is to be compiled learned a text; throws std::invalid_argument for a task whose models have no
/// compiled form.
bool compiles_text(const CompileArguments& arguments);
void compile_text(const CompileArguments& arguments, const Globals& globals);
/// Tells what was compiled.
void say_compiled(const std::string& out, const engine::FibContent& content, bool quiet);

}  // namespace fib::cli
