// SPDX-License-Identifier: Apache-2.0
#include "training/run/summary.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/atomic_file.h"
#include "base/json.h"
#include "base/read_file.h"
#include "base/text.h"

namespace fib::training {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

std::string per_second(const std::string& samples) { return samples + "_per_second"; }

/// The validation set only chose the weights, so its result is the score alone.
ordered_json validation_json(const Summary& s) {
  const Summary::Result& r = *s.validation;
  return {{s.evaluation_unit, r.evaluation.samples},
          {s.score.name, r.evaluation.value(s.score.name)},
          {"weights", r.weights},
          {"epoch", r.epoch}};
}

ordered_json test_json(const Summary& s) {
  const Evaluation& e = s.test.evaluation;
  ordered_json j = {{s.evaluation_unit, e.samples}};
  for (const Metric& metric : e.metrics) j[metric.name] = metric.value;
  j["weights"] = s.test.weights;
  j["epoch"] = s.test.epoch;
  j[per_second(s.evaluation_unit)] = e.samples_per_second();
  return j;
}

/// Every number that is none of the known fields is a figure.
Summary::Result result_of(const ordered_json& j, const std::string& samples) {
  Summary::Result r{.evaluation = {.samples = json_integer(j, samples)},
                    .weights = j.at("weights"),
                    .epoch = json_integer(j, "epoch")};
  for (const auto& [key, value] : j.items()) {
    if (key == per_second(samples) && json_number(j, key) > 0)
      r.evaluation.seconds = static_cast<double>(r.evaluation.samples) / json_number(j, key);
    const bool known = key == samples || key == "epoch" || key == per_second(samples);
    if (!known && value.is_number()) r.evaluation.metrics.push_back({key, json_number(j, key)});
  }
  return r;
}

Summary from_json(const ordered_json& j) {
  Summary s;
  s.task = j.value("task", s.task);
  s.samples = j.value("samples", s.samples);
  s.evaluation_unit = j.value("judged_by", s.samples);
  if (j.contains("score"))
    s.score = {.name = j.at("score").at("name"), .higher_is_better = j.at("score").at("higher_is_better")};
  s.model = j.at("model");
  s.attention = j.at("attention");
  s.data = j.at("data");
  s.seed = json_integer(j, "seed");
  s.parameters = json_integer(j, "parameters");
  s.train_samples = json_integer(j, "train_" + s.samples);
  s.epochs = json_integer(j, "epochs");
  s.steps = json_integer(j, "steps");
  s.batch = json_integer(j, "batch");
  s.processes = json_integer(j, "processes");
  s.threads = json_integer(j, "threads");
  s.machine = j.value("machine", s.machine);
  if (j.contains("validation")) s.validation = result_of(j.at("validation"), s.evaluation_unit);
  s.test = result_of(j.at("test"), s.evaluation_unit);
  s.test.evaluation.value(s.score.name);  // a run without its score is no result
  s.train_seconds = json_number(j, "train_seconds");
  s.peak_memory_mb = json_number(j, "peak_memory_mb");
  if (j.contains("attention_cost"))
    s.attention_cost = {.pruning_ratio = json_number(j.at("attention_cost"), "pruning_ratio"),
                        .pruning_ratio_with_cls = json_number(j.at("attention_cost"), "pruning_ratio_with_cls")};
  if (j.contains(per_second(s.samples)))
    s.speed = {.samples_per_second = json_number(j, per_second(s.samples)),
               .step_ms = json_number(j, "step_ms"),
               .data_wait_ms = json_number(j, "data_wait_ms"),
               .attention_ms = json_number(j, "attention_ms")};
  return s;
}

[[noreturn]] void refuse_summary(const RunFiles& files, const std::string& reason) {
  throw std::runtime_error(fmt::format("cannot understand {}: {}", in_quotes(files.summary().string()), reason));
}

}  // namespace

ordered_json to_json(const Summary& s) {
  ordered_json j = {{"task", s.task},
                    {"samples", s.samples},
                    {"judged_by", s.evaluation_unit},
                    {"score", {{"name", s.score.name}, {"higher_is_better", s.score.higher_is_better}}},
                    {"model", s.model},
                    {"attention", s.attention},
                    {"data", s.data},
                    {"seed", s.seed},
                    {"parameters", s.parameters},
                    {"train_" + s.samples, s.train_samples},
                    {"epochs", s.epochs},
                    {"steps", s.steps},
                    {"batch", s.batch},
                    {"processes", s.processes},
                    {"threads", s.threads},
                    {"machine", s.machine}};
  if (s.validation) j["validation"] = validation_json(s);
  j["test"] = test_json(s);
  j["train_seconds"] = s.train_seconds;
  j["peak_memory_mb"] = s.peak_memory_mb;
  if (s.attention_cost)
    j["attention_cost"] = {{"pruning_ratio", s.attention_cost->pruning_ratio},
                           {"pruning_ratio_with_cls", s.attention_cost->pruning_ratio_with_cls}};
  if (!s.speed) return j;
  j[per_second(s.samples)] = s.speed->samples_per_second;
  j["step_ms"] = s.speed->step_ms;
  j["data_wait_ms"] = s.speed->data_wait_ms;
  j["attention_ms"] = s.speed->attention_ms;
  return j;
}

void write_summary(const RunFiles& files, const Summary& summary) {
  write_file_atomically(files.summary(), to_json(summary).dump(2) + "\n");
}

std::optional<Summary> find_summary(const RunFiles& files) {
  if (!std::filesystem::is_regular_file(files.summary())) return std::nullopt;  // a pipe would be waited for
  try {
    return from_json(parse_json<ordered_json>(read_file(files.summary(), kMaxRecipeBytes)));
  } catch (const json::exception& error) {
    refuse_summary(files, json_reason(error));
  } catch (const std::exception& error) {
    refuse_summary(files, printable(error.what(), 200));
  }
}

Summary read_summary(const RunFiles& files) {
  if (auto summary = find_summary(files)) return *std::move(summary);
  throw std::runtime_error(fmt::format("'{}' holds no finished run: it has no summary.json", files.root.string()));
}

}  // namespace fib::training
