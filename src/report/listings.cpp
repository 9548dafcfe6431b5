// SPDX-License-Identifier: Apache-2.0
#include "report/listings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>

#include "attention/registry.h"
#include "base/text.h"
#include "data/registry/datasets.h"
#include "models/kinds.h"
#include "report/fields.h"
#include "report/text.h"

namespace fib::report {

namespace {

using attention::MechanismInfo;
using nlohmann::ordered_json;

// ---- Attentions

/// A line of the table: a mechanism, or an option below it.
struct AttentionLine {
  std::string name, option, fallback, help;
};

/// What every support set has is said once, below the table.
bool is_said_below(const MechanismInfo& m, const PatternOption& option) {
  const std::vector<PatternOption> shared = attention::shared_options();
  return m.support_set && std::ranges::any_of(shared, [&](const PatternOption& o) { return o.key == option.key; });
}

std::vector<AttentionLine> attention_lines() {
  std::vector<AttentionLine> lines;
  for (const MechanismInfo& m : attention::mechanisms()) {
    lines.push_back({m.name, "", "", m.summary});
    for (const PatternOption& o : m.options)
      if (!is_said_below(m, o)) lines.push_back({"", o.key, o.default_text, o.help});
  }
  return lines;
}

Fields<AttentionLine> attention_fields() {
  using Row = AttentionLine;
  return {text_field<Row>("", "attention", [](const Row& r) { return r.name; }),
          text_field<Row>("", "option", [](const Row& r) { return r.option; }),
          text_field<Row>("", "default", [](const Row& r) { return r.fallback; }),
          text_field<Row>("", "what it is", [](const Row& r) { return r.help; })};
}

// ---- Models

/// "96/192/384/768" where stages differ.
std::string by_stage(const models::ModelRow& row, int64_t models::ModelRow::*whole, int64_t models::Stage::*part) {
  if (row.stages.empty()) return std::to_string(row.*whole);
  std::string text;
  for (const models::Stage& stage : row.stages) text += (text.empty() ? "" : "/") + std::to_string(stage.*part);
  return text;
}

Field<ListedModel> dimension(const char* name, int64_t models::ModelRow::*whole, int64_t models::Stage::*part) {
  Field<ListedModel> f = hidden_field<ListedModel>(name, [whole](const ListedModel& m) { return m.row.*whole; });
  f.title = name;
  f.text = [whole, part](const ListedModel& m) { return by_stage(m.row, whole, part); };
  return f;
}

std::optional<ordered_json> stages_json(const ListedModel& m) {
  if (m.row.stages.empty()) return std::nullopt;
  auto list = ordered_json::array();
  for (const models::Stage& stage : m.row.stages)
    list.push_back({{"dim", stage.dim}, {"depth", stage.depth}, {"heads", stage.heads}});
  return list;
}

std::string size_text(const ListedModel& m) {
  return (m.row.frames > 0 ? fmt::format("{} x ", m.row.frames) : "") + std::to_string(m.row.resolution);
}

Fields<ListedModel> model_fields() {
  using Row = ListedModel;
  Field<Row> resolution = hidden_field<Row>("resolution", [](const Row& m) { return m.row.resolution; });
  resolution.title = "resolution", resolution.text = size_text;
  Field<Row> compiles = hidden_field<Row>("compiles", [](const Row& m) { return m.row.kind->compiles; });
  compiles.title = "compiles", compiles.align = Table::Align::left;
  compiles.text = [](const Row& m) { return m.row.kind->compiles ? "yes" : "no"; };
  return {text_field<Row>("name", "model", [](const Row& m) { return m.row.name; }),
          count_field<Row>("parameters", "parameters",
                           [](const Row& m) { return m.cost ? std::optional(m.cost->parameters) : std::nullopt; }),
          number_field<Row>(
              "gmacs", "GMACs",
              [](const Row& m) { return m.cost ? std::optional(m.cost->total() / 1e9) : std::nullopt; }, 3),
          resolution,
          field<Row>(
              "patch", "patch", [](const Row& m) { return m.row.patch; }, [](int64_t n) { return std::to_string(n); }),
          dimension("dim", &models::ModelRow::dim, &models::Stage::dim),
          dimension("depth", &models::ModelRow::depth, &models::Stage::depth),
          dimension("heads", &models::ModelRow::heads, &models::Stage::heads),
          count_field<Row>("classes", "classes", [](const Row& m) { return m.row.classes; }),
          hidden_field<Row>("kind", [](const Row& m) { return m.row.kind->name; }),
          compiles,
          optional_field<Row>(
              "frames", [](const Row& m) { return m.row.frames > 0 ? std::optional(m.row.frames) : std::nullopt; }),
          optional_field<Row>("stages", stages_json),
          optional_field<Row>("misfit", [](const Row& m) { return m.cost ? std::nullopt : std::optional(m.misfit); })};
}

ListedModel listed(const models::ModelRow& row, const AttentionSpec& attention) {
  models::Options options;
  options.attention = attention;
  try {
    return {row, models::cost(models::dimensions(row.name, options))};
  } catch (const std::invalid_argument& error) {
    return {row, std::nullopt, error.what()};
  }
}

/// The models left out of the table, by reason.
std::string misfits_text(const std::vector<ListedModel>& models) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const ListedModel& model : models)
    if (!model.cost) by_reason[model.misfit].push_back(model.row.name);
  std::string text;
  for (const auto& [reason, names] : by_reason)
    text += fmt::format("Without {}: {}.\n", fmt::join(names, ", "), reason);
  return text;
}

// ---- Datasets

/// Where a row is looked for by default, and where it was found; neither for kinds that need a path.
struct ListedDataset {
  const DatasetRow& row;
  std::vector<std::filesystem::path> places = {};
  std::optional<std::filesystem::path> found = std::nullopt;

  bool needs_path() const { return row.folder.empty(); }
  std::string state() const {
    if (needs_path()) return fmt::format("written {}:PATH", row.name);
    return found ? found->string() : "missing";
  }
};

std::vector<ListedDataset> list_datasets() {
  std::vector<ListedDataset> list;
  for (const DatasetRow& row : dataset_rows()) {
    ListedDataset& entry = list.emplace_back(ListedDataset{row});
    if (entry.needs_path()) continue;
    const DataSource source = parse_data_source(row.name);
    entry.places = source.places, entry.found = find_dataset(source);
  }
  return list;
}

Fields<ListedDataset> dataset_fields() {
  using Row = ListedDataset;
  const auto per_channel = [](const Row& d, const std::array<float, 3>& v) {
    return std::vector<float>(v.begin(), v.begin() + d.row.channels);
  };
  const auto or_none = [](auto number) { return number == 0 ? std::nullopt : std::optional(number); };
  return {text_field<Row>("name", "dataset", [](const Row& d) { return std::string(d.row.name); }),
          text_field<Row>("what", "what it is", [](const Row& d) { return std::string(d.row.what); }),
          shown_field<Row>(
              "where", [](const Row& d) { return d.state(); }, Table::Align::left),
          hidden_field<Row>("classes", [or_none](const Row& d) { return or_none(d.row.classes); }),
          hidden_field<Row>("image_size", [or_none](const Row& d) { return or_none(d.row.image_size); }),
          hidden_field<Row>("channels", [](const Row& d) { return d.row.channels; }),
          hidden_field<Row>("mean", [per_channel](const Row& d) { return per_channel(d, d.row.mean); }),
          hidden_field<Row>("std", [per_channel](const Row& d) { return per_channel(d, d.row.std); }),
          hidden_field<Row>("looked_in",
                            [](const Row& d) {
                              std::vector<std::string> places;
                              for (const auto& place : d.places) places.push_back(place.string());
                              return places;
                            }),
          hidden_field<Row>("found",
                            [](const Row& d) { return d.found ? std::optional(d.found->string()) : std::nullopt; }),
          hidden_field<Row>("how_to_get", [](const Row& d) { return std::string(d.row.how_to_get); })};
}

/// For each that is missing: where it was looked for, and what to do.
std::string advice(const std::vector<ListedDataset>& list) {
  Table table({{"missing"}, {"looked for in"}, {"to get it"}});
  bool any = false;
  for (const ListedDataset& d : list) {
    if (d.needs_path() || d.found) continue;
    table.add_row({std::string(d.row.name), d.places[0].string(), std::string(d.row.how_to_get)});
    for (size_t i = 1; i < d.places.size(); ++i) table.add_row({"", d.places[i].string(), ""});
    any = true;
  }
  return any ? "\n" + table.to_string() : "";
}

}  // namespace

ordered_json attentions_json() {
  auto list = ordered_json::array();
  for (const MechanismInfo& m : attention::mechanisms()) {
    auto options = ordered_json::array();
    for (const PatternOption& o : m.options)
      options.push_back({{"key", o.key}, {"default", o.default_text}, {"help", o.help}});
    list.push_back({{"name", m.name}, {"summary", m.summary}, {"support_set", m.support_set}, {"options", options}});
  }
  return list;
}

std::string attentions_text() {
  std::vector<std::string> others;
  for (const MechanismInfo& m : attention::mechanisms())
    if (!m.support_set) others.push_back(m.name);
  std::string text = fields_table(attention_fields(), attention_lines()) +
                     fmt::format(
                         "\nWritten NAME:key=value,key=value, e.g. fibottention:wmin=5,wmax=65,permute=none.\n"
                         "N is the number of patch tokens; integers may be written N or N/k.\n"
                         "All but {} are support sets, which fib pattern draws. They take, too:\n",
                         fmt::join(others, ", "));
  for (const PatternOption& o : attention::shared_options())
    text += fmt::format("  {} (default {}): {}\n", o.key, o.default_text, o.help);
  return text;
}

std::vector<ListedModel> list_models(const AttentionSpec& attention) {
  attention::check_spec(attention);
  std::vector<ListedModel> list;
  for (const models::ModelRow& row : models::table()) list.push_back(listed(row, attention));
  const auto fits = [](const ListedModel& model) { return model.cost.has_value(); };
  if (std::none_of(list.begin(), list.end(), fits)) throw std::invalid_argument(list.front().misfit);
  return list;
}

ordered_json models_json(const std::vector<ListedModel>& models) { return fields_json(model_fields(), models); }

std::string models_text(const std::vector<ListedModel>& models, const AttentionSpec& attention) {
  std::vector<ListedModel> fitting = models;
  std::erase_if(fitting, [](const ListedModel& model) { return !model.cost; });
  return fields_table(model_fields(), fitting) +
         fmt::format("\nWith {} attention, for one image, or one clip (frames x resolution). Others: fib flops.\n",
                     attention.to_string()) +
         misfits_text(models);
}

ordered_json datasets_json() { return fields_json(dataset_fields(), list_datasets()); }

std::string datasets_text() {
  const std::vector<ListedDataset> list = list_datasets();
  return fields_table(dataset_fields(), list) + advice(list) +
         fmt::format(
             "\nDefault places are below {}; FIB_DATA names another folder.\n"
             "Elsewhere: --data NAME:PATH, e.g. cifar10:/data/cifar-10-batches-bin.\n",
             printable(data_root().string(), kLongestPath));
}

// ---- fib flops

namespace {

constexpr double kGiga = 1e9;

models::Cost cost_of(const std::string& model, int64_t resolution, const AttentionSpec& attention,
                     models::Options options) {
  options.attention = attention;
  options.resolution = resolution;
  return models::cost(models::dimensions(model, options));
}

std::string two_digits(double share) { return fmt::format("{:.2f} %", 100 * share); }

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
  return {
      text_field<Row>("model", "model", [](const Row& r) { return r.model; }),
      field<Row>(
          "resolution", "resolution", [](const Row& r) { return r.resolution; }, number),
      field<Row>(
          "tokens", "tokens", [](const Row& r) { return r.cost.tokens; }, grouped),
      text_field<Row>("attention", "attention", [](const Row& r) { return r.attention; }),
      hidden_field<Row>("parameters", [](const Row& r) { return r.cost.parameters; }),
      count_field<Row>("pairs", "pairs", [](const Row& r) { return r.cost.patch_pairs; }),
      field<Row>(
          "pruning_ratio", "pruned, mean", [](const Row& r) { return r.cost.pruning_ratio; }, two_digits),
      field<Row>(
          "pruning_ratio_by_cost", "by cost", [](const Row& r) { return r.cost.pruning_ratio_by_cost; }, two_digits),
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
         "tokens times the share that is not pruned. Pairs: of patch tokens, in the layers that take the attention. "
         "Pruned: mean\n"
         "of these layers, and the same with each weighing what its dense attention costs. Saved: of the total,\n"
         "against full attention.\n";
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
