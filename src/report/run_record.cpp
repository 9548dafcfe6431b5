// SPDX-License-Identifier: Apache-2.0
#include "report/run_record.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "base/json_figure.h"
#include "base/json_reason.h"
#include "base/parse_json.h"
#include "base/printable.h"
#include "base/read_file.h"
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
  const double epoch = json_figure(line, "epoch");
  if (line.contains("train_loss")) run.train_loss.push_back({epoch, json_figure(line, "train_loss")});
  if (line.value("split", "") != "validation") return;
  (line.at("weights") == "ema" ? run.validation : unaveraged).push_back({epoch, json_figure(line, run.score)});
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

double RunRecord::score_scale() const { return training::figure_style(score).percent ? 100 : 1; }

std::string RunRecord::score_label() const {
  const training::FigureStyle style = training::figure_style(score);
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

}  // namespace fib::report
