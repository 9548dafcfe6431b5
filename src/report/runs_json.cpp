// SPDX-License-Identifier: Apache-2.0
#include "report/runs_json.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/json_figure.h"
#include "base/json_integer.h"
#include "base/json_reason.h"
#include "base/parse_json.h"
#include "base/printable.h"
#include "base/read_file.h"

namespace fib::report {
namespace {

using nlohmann::json;

constexpr const char* kScores = "test_";

nlohmann::ordered_json known_json(double value) {
  return value > 0 ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
}

/// What known_json made null is 0 again.
double figure(const json& row, const char* key) { return row.at(key).is_null() ? 0 : json_figure(row, key); }

void read_score(RunRecord& run, const json& row) {
  for (const auto& item : row.items()) {
    const std::string& key = item.key();
    if (!key.starts_with(kScores) || key == "test_images") continue;
    run.score = key.substr(std::string_view(kScores).size());
    run.test_score = json_figure(row, key);
    return;
  }
  throw std::runtime_error("a row has no score of a test");
}

RunRecord recorded_run(const json& row) {
  RunRecord run;
  run.name = row.at("run");
  run.model = row.at("model");
  run.attention = row.at("attention");
  run.data = row.at("data");
  run.machine = row.at("machine");
  run.finished = row.at("finished");
  run.seed = json_integer(row, "seed");
  run.epochs = json_figure(row, "epochs");
  run.train_samples = json_integer(row, "images");
  run.test_samples = json_integer(row, "test_images");
  run.samples_per_second = figure(row, "images_per_second");
  run.pair_share = json_figure(row, "pair_share");
  run.attention_ms = figure(row, "attention_ms");
  run.step_ms = figure(row, "step_ms");
  run.peak_memory_mb = json_figure(row, "peak_memory_mb");
  read_score(run, row);
  return run;
}

std::vector<RunRecord> recorded_runs(const std::string& text) {
  std::vector<RunRecord> runs;
  const json content = parse_json(text);
  for (const json& row : content.at("rows")) runs.push_back(recorded_run(row));
  if (runs.empty()) throw std::runtime_error("there are none");
  return runs;
}

}  // namespace

std::vector<RunRecord> read_runs(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path))
    throw std::runtime_error("there is neither a run nor a file of rows at " + in_quotes(path.string()));
  if (!std::filesystem::is_regular_file(path)) return {read_run(path)};
  const std::string text = read_file(path, kMaxRecordBytes);
  const auto refuse = [&](const std::string& reason) {
    throw std::runtime_error("cannot understand the rows of runs in " + in_quotes(path.string()) + ": " + reason);
  };
  try {
    return recorded_runs(text);
  } catch (const json::exception& error) {
    refuse(json_reason(error));
  } catch (const std::runtime_error& error) {
    refuse(error.what());
  }
  return {};
}

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
          {"machine", run.machine},
          {kScores + run.score, run.test_score},
          {"images_per_second", known_json(run.samples_per_second)},
          {"pair_share", run.pair_share},
          {"attention_ms", known_json(run.attention_ms)},
          {"step_ms", known_json(run.step_ms)},
          {"peak_memory_mb", run.peak_memory_mb}};
}

}  // namespace fib::report
