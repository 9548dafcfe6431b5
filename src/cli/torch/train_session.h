// SPDX-License-Identifier: Apache-2.0
// A run of fib train, fib prune or fib adapt as the command line asks for it.
#pragma once

#include "cli/command.h"
#include "cli/recipe_options.h"
#include "training/torch/session.h"

namespace fib::cli {

/// How many threads torch computes with: OpenMP's and torch's. Throws std::runtime_error with one line unless the
/// system grants all that come of it, and `beside` more: torch waits for ever for those that it does not get.
void use_torch_threads(int64_t threads, int64_t beside = 0);

/// The tasks that a recipe can name: all of this program's.
std::vector<training::TaskRow> all_tasks();

/// Waits for the other processes of the run; throws training::LostRank at a signal, which cancels.
training::Session open_session(const TrainArguments& arguments, const Globals& globals, CancelSource& cancel);

/// Throws Exit with the code of the signal where the run was stopped.
void run_session(training::Session& session, const TrainArguments& arguments, CancelSource& cancel, bool quiet);

/// What a finished run of the command said, as JSON.
void tell_again(const training::Session& session, const TrainArguments& arguments);

}  // namespace fib::cli
