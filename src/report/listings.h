// SPDX-License-Identifier: Apache-2.0
// What there is and what it costs: attentions, models and datasets, as tables and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/cost.h"
#include "report/plot.h"

namespace fib::report {

// ---- fib attentions

nlohmann::ordered_json attentions_json();
std::string attentions_text();

// ---- fib models

/// A row with the attention asked for, or why the two do not go together.
struct ListedModel {
  models::ModelRow row;
  std::optional<models::Cost> cost = std::nullopt;
  std::string misfit = {};
};

/// Throws std::invalid_argument for an unknown attention, and for one that no model can have.
std::vector<ListedModel> list_models(const AttentionSpec& attention);
nlohmann::ordered_json models_json(const std::vector<ListedModel>& models);
std::string models_text(const std::vector<ListedModel>& models, const AttentionSpec& attention);

// ---- fib datasets

nlohmann::ordered_json datasets_json();
std::string datasets_text();

// ---- fib flops: what models cost with one attention and another, at one resolution and another

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
