// SPDX-License-Identifier: Apache-2.0
#include "analysis/ablations/jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <thread>

#include "base/atomic_file.h"
#include "training/recipe/toml.h"

namespace fib::ablations {
namespace {

/// A middling speed of training on one core, good for an order of magnitude; once a run of a scale has finished, its
/// own speed is used.
constexpr double kGmacsPerCore = 20;

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

std::string label_of(const Ablation& ablation, const Run& run) {
  return fmt::format("{} ({}, seed {}{})", ablation.rows[run.row].label, run.data, run.recipe.seed,
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
    effort.data_present &= has_data(run.recipe);
  }
  return effort;
}

}  // namespace fib::ablations
