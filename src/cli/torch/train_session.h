// SPDX-License-Identifier: Apache-2.0
// A run of fib train, fib prune or fib adapt as the command line asks for it.
#pragma once

#include "cli/recipe_options.h"
#include "training/torch/session.h"

namespace fib::cli {

/// The tasks that a recipe can name: all of this program's.
std::vector<training::TaskRow> all_tasks();

/// Waits for the other processes of the run; throws training::LostRank at a signal, which cancels.
training::Session open_session(const TrainArguments& arguments, CancelSource& cancel, bool quiet);

/// Throws Exit with the code of the signal where the run was stopped.
void run_session(training::Session& session, const TrainArguments& arguments, CancelSource& cancel, bool quiet);

/// What a finished run of the command said, as JSON.
void tell_again(const training::Session& session, const TrainArguments& arguments);

}  // namespace fib::cli
