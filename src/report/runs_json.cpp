// SPDX-License-Identifier: Apache-2.0
#include "report/runs_json.h"

#include <nlohmann/json.hpp>

namespace fib::report {
namespace {

nlohmann::ordered_json known_json(double value) {
  return value > 0 ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
}

}  // namespace

nlohmann::ordered_json run_json(const RunRecord& run) {
  return {{"run", run.name},
          {"model", run.model},
          {"attention", run.attention},
          {"data", run.data},
          {"seed", run.seed},
          {"epochs", run.epochs},
          {"images", run.train_samples},
          {"test_images", run.test_samples},
          {"finished", run.finished},
          {"test_" + run.score, run.test_score},
          {"images_per_second", known_json(run.samples_per_second)},
          {"pair_share", run.pair_share},
          {"attention_ms", known_json(run.attention_ms)},
          {"step_ms", known_json(run.step_ms)},
          {"peak_memory_mb", run.peak_memory_mb}};
}

}  // namespace fib::report
