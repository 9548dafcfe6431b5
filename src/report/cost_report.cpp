// SPDX-License-Identifier: Apache-2.0
#include "report/cost_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/table.h"
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

std::string gmacs(double macs) { return fmt::format("{:.3f}", macs / kGiga); }

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
  auto list = nlohmann::ordered_json::array();
  for (const FlopsRow& row : rows) {
    const models::Cost& c = row.cost;
    list.push_back({{"model", row.model},
                    {"resolution", row.resolution},
                    {"attention", row.attention},
                    {"tokens", c.tokens},
                    {"parameters", c.parameters},
                    {"pruning_ratio", c.pruning_ratio},
                    {"gmacs",
                     {{"patch_embed", c.patch_embed / kGiga},
                      {"qkv", c.qkv / kGiga},
                      {"scores", c.scores / kGiga},
                      {"values", c.values / kGiga},
                      {"projection", c.projection / kGiga},
                      {"mlp", c.mlp / kGiga},
                      {"head", c.head / kGiga},
                      {"total", c.total() / kGiga}}},
                    {"saved_over_full", row.saved()}});
  }
  return {{"rows", list}};
}

std::string flops_text(const std::vector<FlopsRow>& rows) {
  using enum Table::Align;
  Table table({{"model", left},
               {"resolution", right},
               {"tokens", right},
               {"attention", left},
               {"pruned", right},
               {"patches", right},
               {"qkv", right},
               {"scores", right},
               {"values", right},
               {"projection", right},
               {"MLP", right},
               {"head", right},
               {"total", right},
               {"saved", right}});
  const FlopsRow* above = nullptr;
  for (const FlopsRow& row : rows) {
    const models::Cost& c = row.cost;
    const bool same_model = above != nullptr && above->model == row.model;
    const bool same_size = same_model && above->resolution == row.resolution;
    table.add_row({same_model ? "" : row.model, same_size ? "" : std::to_string(row.resolution),
                   same_size ? "" : grouped(c.tokens), row.attention, fmt::format("{:.2f} %", 100 * c.pruning_ratio),
                   gmacs(c.patch_embed), gmacs(c.qkv), gmacs(c.scores), gmacs(c.values), gmacs(c.projection),
                   gmacs(c.mlp), gmacs(c.head), gmacs(c.total()), fmt::format("{:.1f} %", 100 * row.saved())});
    above = &row;
  }
  return table.to_string() +
         "\nGMACs of one image (10⁹ multiply-accumulates), scores and values counted as the paper does: all pairs "
         "of\n"
         "tokens times the share that is not pruned. Saved: of the total, against full attention.\n";
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
