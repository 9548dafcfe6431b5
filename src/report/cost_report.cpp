// SPDX-License-Identifier: Apache-2.0
#include "report/cost_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/fields.h"
#include "report/words.h"

namespace fib::report {
namespace {

constexpr double kGiga = 1e9;

models::Cost cost_of(const std::string& model, int64_t resolution, const AttentionSpec& attention,
                     models::Options options) {
  options.attention = attention;
  options.resolution = resolution;
  return models::cost(models::dimensions(model, options));
}

std::string percent(double share) { return fmt::format("{:.2f} %", 100 * share); }

/// Billions of multiply-accumulates of one part.
Field<FlopsRow> part(const char* key, const char* title, double models::Cost::*part) {
  return field<FlopsRow>(
      std::string("gmacs.") + key, title, [part](const FlopsRow& r) { return r.cost.*part / kGiga; },
      [](double gmacs) { return fmt::format("{:.3f}", gmacs); });
}

Fields<FlopsRow> flops_fields() {
  using Row = FlopsRow;
  using models::Cost;
  const auto number = [](int64_t n) { return std::to_string(n); };
  return {text_field<Row>("model", "model", [](const Row& r) { return r.model; }),
          field<Row>(
              "resolution", "resolution", [](const Row& r) { return r.resolution; }, number),
          field<Row>(
              "tokens", "tokens", [](const Row& r) { return r.cost.tokens; }, grouped),
          text_field<Row>("attention", "attention", [](const Row& r) { return r.attention; }),
          hidden_field<Row>("parameters", [](const Row& r) { return r.cost.parameters; }),
          field<Row>(
              "pruning_ratio", "pruned, mean", [](const Row& r) { return r.cost.pruning_ratio; }, percent),
          field<Row>(
              "pruning_ratio_by_cost", "by cost", [](const Row& r) { return r.cost.pruning_ratio_by_cost; }, percent),
          part("patch_embed", "patches", &Cost::patch_embed),
          part("qkv", "qkv", &Cost::qkv),
          part("scores", "scores", &Cost::scores),
          part("values", "values", &Cost::values),
          part("projection", "projection", &Cost::projection),
          part("mlp", "MLP", &Cost::mlp),
          part("head", "head", &Cost::head),
          field<Row>(
              "gmacs.total", "total", [](const Row& r) { return r.cost.total() / kGiga; },
              [](double gmacs) { return fmt::format("{:.3f}", gmacs); }),
          field<Row>(
              "saved_over_full", "saved", [](const Row& r) { return r.saved(); },
              [](double share) { return fmt::format("{:.1f} %", 100 * share); })};
}

/// The element with this name, appended if there is none yet; what was first stays first.
template <class Named>
Named& named(std::vector<Named>& list, const std::string& name, std::string Named::*member) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const Named& n) { return n.*member == name; });
  if (found != list.end()) return *found;
  list.emplace_back();
  list.back().*member = name;
  return list.back();
}

size_t attentions_of(const std::vector<FlopsRow>& rows) {
  std::set<std::string> names;
  for (const FlopsRow& row : rows) names.insert(row.attention);
  return names.size();
}

}  // namespace

std::vector<FlopsRow> flops_rows(const std::vector<std::string>& models, const std::vector<int64_t>& resolutions,
                                 const std::vector<AttentionSpec>& attentions, const models::Options& choice) {
  std::vector<FlopsRow> rows;
  for (const std::string& model : models) {
    const std::vector<int64_t> own = {models::find_row(model).resolution};
    for (int64_t resolution : resolutions.empty() ? own : resolutions) {
      const double full = cost_of(model, resolution, {"full", {}}, choice).total();
      for (const AttentionSpec& attention : attentions) {
        rows.push_back({model, resolution, attention.to_string(), cost_of(model, resolution, attention, choice), full});
      }
    }
  }
  return rows;
}

nlohmann::ordered_json flops_json(const std::vector<FlopsRow>& rows) {
  return {{"rows", fields_json(flops_fields(), rows)}};
}

std::string flops_text(const std::vector<FlopsRow>& rows) {
  return fields_table(flops_fields(), rows, 3) +
         "\nGMACs of one image (10⁹ multiply-accumulates), scores and values counted as the paper does: all pairs of\n"
         "tokens times the share that is not pruned. Pruned: mean of the layers that take the attention, and the same\n"
         "with each layer weighing what its dense attention costs. Saved: of the total, against full attention.\n";
}

LinePlot flops_plot(const std::vector<FlopsRow>& rows) {
  LinePlot plot{"Inference cost of one image", {}};
  // More than one column of labels would be on top of each other.
  const bool labelled = attentions_of(rows) <= 2;
  for (const FlopsRow& row : rows) {
    Panel& panel = named(plot.panels, row.model, &Panel::title);
    panel.x_label = "resolution";
    panel.y_label = "GMACs";
    panel.y.from_zero = true;
    panel.x.ticks.push_back(static_cast<double>(row.resolution));
    Series& series = named(panel.series, row.attention, &Series::name);
    const std::string label = labelled && row.saved() > 0 ? fmt::format("−{:.0f} %", 100 * row.saved()) : "";
    series.points.push_back({static_cast<double>(row.resolution), row.cost.total() / kGiga, label});
  }
  return plot;
}

}  // namespace fib::report
