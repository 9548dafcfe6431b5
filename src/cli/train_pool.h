// SPDX-License-Identifier: Apache-2.0
// Training runs as processes of their own, some at a time: a run that fails takes no other with it, and whoever stops
// the pool stops them politely.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace fib::cli {

struct TrainJob {
  std::vector<std::string> arguments;  ///< behind `fib`
  std::filesystem::path log;           ///< what the run says
};

/// How a job ended: 0, or the code of failure; 128 + n when signal n ended it.
using JobEnded = std::function<void(size_t job, int code)>;
using JobStarted = std::function<void(size_t job)>;

enum class PoolOutcome { finished, stopped };

/// At most `width` jobs at once, in their order. When a stop signal comes (StopSignals must live), running jobs get it
/// too and are waited for; no other begins.
PoolOutcome run_jobs(const std::vector<TrainJob>& jobs, int64_t width, const JobStarted& started,
                     const JobEnded& ended);

}  // namespace fib::cli
