// SPDX-License-Identifier: Apache-2.0
#include "analysis/ablations/jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "base/atomic_file.h"
#include "base/read_file.h"
#include "base/text.h"
#include "training/recipe/options.h"

namespace fib::ablations {
namespace {

/// A middling speed of training on one core, good for an order of magnitude; once a run of a scale has finished, its
/// own speed is used.
constexpr double kGmacsPerCore = 20;

std::string last_line(const std::filesystem::path& file) {
  std::istringstream in(read_file(file, kMaxRecordBytes));
  std::string last;
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) last = line;
  return last;
}

}  // namespace

std::vector<size_t> left_to_do(const std::vector<Run>& runs, bool resume) {
  std::set<std::filesystem::path> seen;
  std::vector<size_t> left;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].state == State::finished || !seen.insert(runs[i].directory).second) continue;
    if (runs[i].state == State::unfinished && !resume)
      throw std::invalid_argument("'" + runs[i].directory.string() +
                                  "' holds a run that was interrupted: add --resume to continue it");
    left.push_back(i);
  }
  // Known before the first run begins.
  if (const auto missing = missing_weights(runs); !missing.empty())
    throw std::runtime_error("the runs begin from weights that are missing: " + in_quotes(missing.front()) +
                             "; give --set weights=FILE");
  return left;
}

training::Job job_of(const Run& run, int64_t threads) {
  const std::string directory = run.directory.string();
  training::Job job{{run.verb, "--out", directory, "--threads", fmt::format("{}", threads)}, directory + ".log", {}};
  if (run.state == State::unfinished) {
    job.arguments.emplace_back("--resume");
    return job;
  }
  std::filesystem::create_directories(run.directory.parent_path());
  write_file_atomically(directory + ".toml", write_toml(run.recipe));
  job.arguments.insert(job.arguments.end(), {"--recipe", directory + ".toml"});
  return job;
}

StageResult run_stages(const Ablation& ablation, std::vector<Run>& runs, std::vector<size_t> left,
                       const StageOptions& options) {
  StageResult result;
  for (int64_t stage = 0; !left.empty() && result.failure.empty(); ++stage) {
    const auto rest = std::ranges::stable_partition(left, [&](size_t i) { return runs[i].stage == stage; });
    const std::vector<size_t> now(left.begin(), rest.begin());
    left.erase(left.begin(), rest.begin());
    std::vector<training::Job> jobs;
    for (const size_t i : now) jobs.push_back(job_of(runs[i], std::max<int64_t>(1, options.threads / options.width)));
    const auto ended = [&](size_t job, int code) {
      Run& run = runs[now[job]];
      look_up(run);
      if (code != 0 && !options.cancel.requested() && result.failure.empty())
        result.failure = fmt::format("training {} failed with {}: {} (see {})", label_of(ablation, run), code,
                                     last_line(jobs[job].log), jobs[job].log.string());
      if (options.ended) options.ended(run);
    };
    const auto started = [&](size_t job) {
      if (options.started) options.started(runs[now[job]]);
    };
    result.outcome = training::run_jobs(
        jobs, {.width = options.width, .started = started, .ended = ended, .cancel = options.cancel});
    if (result.outcome == training::PoolOutcome::stopped) break;
  }
  return result;
}

std::string label_of(const Ablation& ablation, const Run& run) {
  return fmt::format("{} ({}, seed {}{})", ablation.rows[run.row].label, run.data, run.recipe.run.seed,
                     !run.preparation      ? ""
                     : run.verb == "prune" ? ", search"
                                           : ", to be pruned");
}

Effort effort_of(const Ablation& ablation, Request request, Scale scale) {
  if (!has_scale(ablation, scale)) return {};
  request.scale = scale;
  const std::vector<Run> runs = plan(ablation, request);
  const double rate = kGmacsPerCore * std::max(1U, std::thread::hardware_concurrency());
  Effort effort;
  std::set<std::filesystem::path> seen;
  for (const Run& run : runs) {
    if (!seen.insert(run.directory).second) continue;
    ++effort.runs;
    if (run.state == State::finished)
      ++effort.finished;
    else
      effort.seconds += estimated_seconds(run, runs, rate);
    if (!has_data(run.recipe)) effort.missing.insert(how_to_get(run.recipe));
  }
  return effort;
}

}  // namespace fib::ablations
