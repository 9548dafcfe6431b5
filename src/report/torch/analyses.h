// SPDX-License-Identifier: Apache-2.0
// What `fib analyze` finds and says: a row for each model, as a table, as JSON and as plots.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/statistics.h"
#include "analysis/torch/object_regions.h"
#include "analysis/torch/robustness.h"
#include "report/plot.h"
#include "report/torch/attention_sheet.h"

namespace fib::report {

/// Which model a row is of, and on which images.
struct AnalyzedModel {
  std::string name, attention, data;
  nlohmann::ordered_json input;

  static AnalyzedModel of(const training::TrainedModel& model);
};

// ---- fib analyze diversity

struct DiversityRow {
  AnalyzedModel model;
  int64_t layer = 0;  ///< from 1
  analysis::FiveNumbers numbers;
  std::optional<analysis::FiveNumbers> paper;

  /// The paper's numbers beside those of a model's mechanism.
  static DiversityRow of(const training::TrainedModel& model, int64_t layer, std::vector<double> diversities);
};
nlohmann::ordered_json diversity_json(const std::vector<DiversityRow>& rows);
std::string diversity_text(const std::vector<DiversityRow>& rows);
BoxPlot diversity_plot(const std::vector<DiversityRow>& rows);

// ---- fib analyze inductive-bias

struct BiasRow {
  AnalyzedModel model;
  std::string regions;
  int64_t layer = 0;  ///< from 1
  analysis::InsideOver inside;
};
nlohmann::ordered_json bias_json(const std::vector<BiasRow>& rows);
std::string bias_text(const std::vector<BiasRow>& rows);

// ---- fib analyze corruption

struct RobustnessRow {
  AnalyzedModel model;
  analysis::Robustness robustness;
};
nlohmann::ordered_json robustness_json(const std::vector<RobustnessRow>& rows, const analysis::CorruptionSets& sets);
std::string robustness_text(const std::vector<RobustnessRow>& rows, const analysis::CorruptionSets& sets);
/// The paper's figure: the mean of all corruptions by severity.
LinePlot severity_plot(const std::vector<RobustnessRow>& rows, const analysis::CorruptionSets& sets);
/// The paper's appendix: a panel for each corruption.
LinePlot corruption_panels(const std::vector<RobustnessRow>& rows, const analysis::CorruptionSets& sets);
/// The paper's breakdown: accuracy by corruption, the mean of all severities.
BarPlot corruption_plot(const std::vector<RobustnessRow>& rows, const analysis::CorruptionSets& sets);

// ---- fib analyze attention-maps

nlohmann::ordered_json looked_json(const training::TrainedModel& model, const LookedAt& looked);

}  // namespace fib::report
