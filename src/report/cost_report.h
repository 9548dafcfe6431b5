// SPDX-License-Identifier: Apache-2.0
// What models cost with one attention and another, at one resolution and another: rows, and their three faces.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/cost.h"
#include "report/plot.h"

namespace fib::report {

struct FlopsRow {
  std::string model;
  int64_t resolution = 0;
  std::string attention;
  models::Cost cost;
  double full_total = 0;  ///< of the same model with full attention

  double saved() const { return 1.0 - cost.total() / full_total; }
};

/// Every model at every resolution (its own where none is given) with every attention; `choice` has the rest.
std::vector<FlopsRow> flops_rows(const std::vector<std::string>& models, const std::vector<int64_t>& resolutions,
                                 const std::vector<AttentionSpec>& attentions, const models::Options& choice = {});

nlohmann::ordered_json flops_json(const std::vector<FlopsRow>& rows);
std::string flops_text(const std::vector<FlopsRow>& rows);
/// The paper's figure "Inference costs": a panel for each model.
LinePlot flops_plot(const std::vector<FlopsRow>& rows);

}  // namespace fib::report
