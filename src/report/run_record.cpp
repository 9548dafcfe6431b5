// SPDX-License-Identifier: Apache-2.0
#include "report/run_record.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "training/run/directory.h"

namespace fib::report {
namespace {

using nlohmann::json;

json read_summary(const training::RunFiles& files) {
  std::ifstream in(files.summary());
  if (!in) throw std::runtime_error("'" + files.root.string() + "' holds no finished run: it has no summary.json");
  return json::parse(in);
}

void read_summary_into(RunRecord& run, const json& s) {
  run.model = s.at("model");
  run.attention = s.at("attention");
  run.data = s.at("data");
  run.seed = s.at("seed");
  run.train_images = s.at("train_images");
  run.epochs = s.at("epochs");
  run.test_top1 = s.at("test").at("top1");
  run.pair_share = 1 - s.at("attention_cost").at("pruning_ratio_with_cls").get<double>();
  run.peak_memory_mb = s.at("peak_memory_mb");
  run.images_per_second = s.value("images_per_second", 0.0);
  run.step_ms = s.value("step_ms", 0.0);
  run.attention_ms = s.value("attention_ms", 0.0);
}

void add_line(RunRecord& run, std::vector<CurvePoint>& unaveraged, const json& line) {
  const double epoch = line.at("epoch");
  if (line.contains("train_loss")) run.train_loss.push_back({epoch, line.at("train_loss")});
  if (line.value("split", "") != "validation") return;
  (line.at("weights") == "ema" ? run.validation : unaveraged).push_back({epoch, line.at("top1")});
}

}  // namespace

RunRecord read_run(const std::filesystem::path& directory) {
  const training::RunFiles files{directory};
  RunRecord run;
  run.name = directory.has_filename() ? directory.filename() : directory.parent_path().filename();
  std::vector<CurvePoint> unaveraged;
  try {
    read_summary_into(run, read_summary(files));
    std::ifstream in(files.metrics());
    for (std::string line; std::getline(in, line);) add_line(run, unaveraged, json::parse(line));
  } catch (const json::exception& error) {
    throw std::runtime_error("cannot understand the run in '" + directory.string() + "': " + error.what());
  }
  if (run.validation.empty()) run.validation = std::move(unaveraged);
  return run;
}

}  // namespace fib::report
