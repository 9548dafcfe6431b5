// SPDX-License-Identifier: Apache-2.0
// A run of fib train or fib prune as the command line asks for it.
#pragma once

#include "cli/train_options.h"
#include "training/torch/session.h"

namespace fib::cli {

/// Waits for the other processes of the run; throws training::LostRank at a signal.
training::Session open_session(const TrainArguments& arguments, bool quiet);

/// Throws Exit with the code of the signal where the run was stopped.
void run_session(training::Session& session, const TrainArguments& arguments, bool quiet);

}  // namespace fib::cli
