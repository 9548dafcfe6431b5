// SPDX-License-Identifier: Apache-2.0
// Training runs as processes of their own, some at a time: a run that fails takes no other with it, and a signal that
// stops the pool is passed on to them.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/cancel.h"

namespace fib::training {

struct Job {
  std::vector<std::string> arguments;  ///< behind `fib`
  std::filesystem::path log;           ///< what the run says; empty: where this process says it
  std::filesystem::path output;        ///< what it prints; empty: in its log too
};

/// How a job ended: 0, or the code of failure; 128 + n when signal n ended it.
using JobEnded = std::function<void(size_t job, int code)>;
using JobStarted = std::function<void(size_t job)>;

enum class PoolOutcome { finished, stopped };

struct PoolOptions {
  int64_t width = 1;  ///< jobs at once
  JobStarted started;
  JobEnded ended;
  CancelToken cancel = {};
};

/// Runs the jobs in their order. Once it is cancelled by a signal, running jobs get it too and are waited for; no other
/// begins.
PoolOutcome run_jobs(const std::vector<Job>& jobs, const PoolOptions& options);

}  // namespace fib::training
