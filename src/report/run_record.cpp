// SPDX-License-Identifier: Apache-2.0
#include "report/run_record.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "base/json.h"
#include "base/read_file.h"
#include "base/text.h"
#include "training/run/summary.h"

namespace fib::report {

namespace {

using nlohmann::json;

constexpr size_t kLongestReason = 200;

std::string time_of(const std::filesystem::path& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) return "";
  std::tm time{};
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M", gmtime_r(&status.st_mtime, &time));
  return text.data();
}

void take(RunRecord& run, const training::Summary& s) {
  run.model = s.model;
  run.attention = s.attention;
  run.data = s.data;
  run.samples = s.samples;
  run.machine = s.machine;
  run.seed = s.seed;
  run.train_samples = s.train_samples;
  run.epochs = static_cast<double>(s.epochs);
  run.steps = s.steps;
  run.processes = s.processes;
  run.threads = s.threads;
  run.train_seconds = s.train_seconds;
  run.score = s.score.name;
  run.test_score = s.test.evaluation.value(s.score.name);
  run.test_samples = s.test.evaluation.samples;
  if (s.attention_cost) run.pair_share = 1 - s.attention_cost->pruning_ratio_with_cls;
  run.peak_memory_mb = s.peak_memory_mb;
  const training::Summary::Speed speed = s.speed.value_or(training::Summary::Speed{});
  run.samples_per_second = speed.samples_per_second;
  run.step_ms = speed.step_ms;
  run.attention_ms = speed.attention_ms;
}

void add_line(RunRecord& run, std::vector<CurvePoint>& unaveraged, const json& line) {
  const double epoch = json_number(line, "epoch");
  if (line.contains("train_loss")) run.train_loss.push_back({epoch, json_number(line, "train_loss")});
  if (line.value("split", "") != "validation") return;
  (line.at("weights") == "ema" ? run.validation : unaveraged).push_back({epoch, json_number(line, run.score)});
}

/// Empty where a run was not logged.
std::string metrics_of(const training::RunFiles& files) {
  return std::filesystem::is_regular_file(files.metrics()) ? read_file(files.metrics(), kMaxRecordBytes) : "";
}

void take_metrics(RunRecord& run, const training::RunFiles& files) {
  const auto refuse = [&](const std::string& reason) {
    throw std::runtime_error("cannot understand " + in_quotes(files.metrics().string()) + ": " + reason);
  };
  std::vector<CurvePoint> unaveraged;
  std::istringstream in(metrics_of(files));
  try {
    for (std::string line; std::getline(in, line);) add_line(run, unaveraged, parse_json(line));
  } catch (const json::exception& error) {
    refuse(json_reason(error));
  } catch (const std::runtime_error& error) {
    refuse(printable(error.what(), kLongestReason));
  }
  if (run.validation.empty()) run.validation = std::move(unaveraged);
}

}  // namespace

double RunRecord::score_scale() const { return training::metric_style(score).percent ? 100 : 1; }

std::string RunRecord::score_label() const {
  const training::MetricStyle style = training::metric_style(score);
  return style.percent ? style.label + ", percent" : style.label;
}

std::vector<size_t> mechanism_colors(const std::vector<RunRecord>& runs) {
  std::vector<std::string> known;
  std::vector<size_t> colors;
  colors.reserve(runs.size());
  for (const RunRecord& run : runs) {
    const auto found = std::find(known.begin(), known.end(), run.attention);
    colors.push_back(static_cast<size_t>(found - known.begin()));
    if (found == known.end()) known.push_back(run.attention);
  }
  return colors;
}

RunRecord read_run(const std::filesystem::path& directory) {
  const training::RunFiles files{directory};
  RunRecord run;
  run.name = directory.has_filename() ? directory.filename() : directory.parent_path().filename();
  take(run, training::read_summary(files));
  run.finished = time_of(files.summary());
  take_metrics(run, files);
  return run;
}

namespace {

using nlohmann::json;

/// What is not known is null in JSON, and 0 here.
double known_or_zero(const json& row, const char* key) { return row.at(key).is_null() ? 0 : json_number(row, key); }

void read_score(RunRecord& run, const json& row) {
  for (const auto& item : row.items()) {
    const std::string& key = item.key();
    if (!key.starts_with(kTestKey) || key == "test_images") continue;
    run.score = key.substr(std::string_view(kTestKey).size());
    run.test_score = json_number(row, key);
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
  run.epochs = json_number(row, "epochs");
  run.train_samples = json_integer(row, "images");
  run.test_samples = json_integer(row, "test_images");
  run.samples_per_second = known_or_zero(row, "images_per_second");
  run.pair_share = json_number(row, "pair_share");
  run.attention_ms = known_or_zero(row, "attention_ms");
  run.step_ms = known_or_zero(row, "step_ms");
  run.peak_memory_mb = json_number(row, "peak_memory_mb");
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

}  // namespace fib::report
