// SPDX-License-Identifier: Apache-2.0
#include "report/model_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/measure.h"
#include "base/text.h"
#include "kernels/machine.h"
#include "report/fields.h"

namespace fib::report {

namespace {

using nlohmann::ordered_json;
using prediction::ModelInfo;

Fields<RankedClass> class_fields() {
  using Row = RankedClass;
  return {
      hidden_field<Row>("class", [](const Row& c) { return c.index; }),
      hidden_field<Row>("label", [](const Row& c) { return c.label.empty() ? std::nullopt : std::optional(c.label); }),
      share_field<Row>(
          "probability", kUnnamed, [](const Row& c) { return c.probability; }, 2),
      number_field<Row>(
          "logit", kUnnamed, [](const Row& c) { return c.logit; }, 3),
      shown_field<Row>(kUnnamed, [](const Row& c) { return std::to_string(c.index); }),
      shown_field<Row>(
          kUnnamed, [](const Row& c) { return c.label; }, Table::Align::left)};
}

/// Of five classes or fewer all are among the best five.
Field<EvaluationReport> top5_field() {
  using Row = EvaluationReport;
  constexpr int64_t kFive = 5;
  Field<Row> field = share_field<Row>(
      "top5", "top-5", [](const Row& r) { return r.accuracy.top5; }, 2);
  const auto text = field.text;
  field.text = [text](const Row& r) { return r.model.classes > kFive ? text(r) : std::string(); };
  return field;
}

Fields<EvaluationReport> evaluation_fields() {
  using Row = EvaluationReport;
  return {
      shown_field<Row>("model", [](const Row& r) { return r.model.model + ", " + r.model.attention + " attention"; }),
      shown_field<Row>("data", [](const Row& r) { return r.data + ", " + grouped(r.accuracy.images) + " images"; }),
      shown_field<Row>("input", [](const Row& r) { return r.model.input_text(); }),
      hidden_field<Row>("model", [](const Row& r) { return r.model.model; }),
      hidden_field<Row>("attention", [](const Row& r) { return r.model.attention; }),
      hidden_field<Row>("data", [](const Row& r) { return r.data; }),
      hidden_field<Row>("images", [](const Row& r) { return r.accuracy.images; }),
      share_field<Row>(
          "top1", "top-1", [](const Row& r) { return r.accuracy.top1; }, 2),
      top5_field(),
      number_field<Row>(
          "loss", "loss", [](const Row& r) { return r.accuracy.loss; }, 4),
      number_field<Row>(
          "images_per_second", "speed", [](const Row& r) { return r.accuracy.images_per_second(); }, 1, " images/s"),
      hidden_field<Row>("input", [](const Row& r) { return input_json(r.model); })};
}

}  // namespace

ordered_json input_json(const ModelInfo& info) {
  const PipelineConfig& view = info.view;
  return {{"resolution", view.input_size}, {"channels", view.channels},     {"mean", view.mean}, {"std", view.std},
          {"crop_ratio", view.crop_ratio}, {"as_told_by", info.view_source}};
}

ordered_json classified_json(const ClassifiedImage& image) {
  return {{"image", image.file}, {"top", fields_json(class_fields(), image.top)}};
}

std::string classified_text(const ClassifiedImage& image) {
  return printable(image.file, 200) + "\n" + fields_table(class_fields(), image.top) + "\n";
}

namespace {

/// In quotes where it would end its field.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::string classified_csv_header() { return "image,rank,class,label,probability,logit\n"; }

std::string classified_csv(const ClassifiedImage& image) {
  std::string lines;
  for (size_t i = 0; i < image.top.size(); ++i) {
    const RankedClass& c = image.top[i];
    lines += fmt::format("{},{},{},{},{:.6g},{:.6g}\n", csv_field(image.file), i + 1, c.index, csv_field(c.label),
                         c.probability, c.logit);
  }
  return lines;
}

std::string model_line(const ModelInfo& info) {
  const std::string precision = info.precision == "f32" ? "" : ", " + info.precision;
  return fmt::format("{}, {} attention{}; input {}\n", info.model, info.attention, precision, info.input_text());
}

ordered_json evaluation_json(const EvaluationReport& report) { return fields_json(evaluation_fields(), report); }

std::string evaluation_text(const EvaluationReport& report) { return fields_lines(evaluation_fields(), report); }

// ---- fib bench model

namespace {

using bench::EngineStep;
using bench::KindTime;
using bench::ModelBenchRow;
using bench::ModelPass;
using bench::StepProfile;
using engine::Requirements;
using nlohmann::ordered_json;

const char* pass_name(const ModelBenchRow& row) { return to_string(row.pass); }

/// Of a compiled model alone: a table of LibTorch's models has no such columns.
Field<ModelBenchRow> compiled_field(const char* key, std::string (*value)(const ModelBenchRow&)) {
  Field<ModelBenchRow> f = text_field<ModelBenchRow>(key, key, value);
  f.text = [value](const ModelBenchRow& r) { return r.engine ? value(r) : ""; };
  return f;
}

/// Of compiled models and training steps: a table of forward passes alone has no such column.
Field<ModelBenchRow> precision_field() {
  using Row = ModelBenchRow;
  Field<Row> f = text_field<Row>("precision", "precision", [](const Row& r) { return r.precision; });
  f.text = [](const Row& r) { return r.engine || r.pass == ModelPass::training ? r.precision : ""; };
  return f;
}

/// A column of what a compiled model needs, in some unit; JSON has the number itself.
Field<ModelBenchRow> needs_field(const char* key, const char* title, int digits, double unit,
                                 double (*value)(const Requirements&)) {
  const auto json = [value](const ModelBenchRow& r) { return r.needs ? std::optional(value(*r.needs)) : std::nullopt; };
  Field<ModelBenchRow> f = optional_field<ModelBenchRow>(key, json);
  f.title = title;
  f.text = [=](const ModelBenchRow& r) { return r.needs ? fixed(value(*r.needs) / unit, digits) : ""; };
  return f;
}

/// Of LibTorch's models alone.
Field<ModelBenchRow> torch_field(Field<ModelBenchRow> f) {
  f.text = [text = f.text](const ModelBenchRow& r) { return r.engine ? "" : text(r); };
  return f;
}

Fields<KindTime> kind_fields(const StepProfile& profile) {
  using Row = KindTime;
  const double total = profile.total_ms();
  return {text_field<Row>("kind", "kind", [](const Row& k) { return k.kind; }),
          number_field<Row>(
              "forward_ms", "forward ms", [](const Row& k) { return k.forward_ms; }, 1),
          number_field<Row>(
              "backward_ms", "backward ms", [](const Row& k) { return k.backward_ms; }, 1),
          shown_field<Row>("share", [total](const Row& k) {
            return fmt::format("{:.0f} %", 100.0 * (k.forward_ms + k.backward_ms) / total);
          })};
}

/// Steps that do the same with the same shapes, whatever their weights.
struct AlikeSteps {
  EngineStep step;
  int64_t count = 0;
  double ms = 0.0;

  /// Of the mean time.
  std::optional<double> scaled(std::optional<double> of_first) const {
    return of_first ? std::optional(*of_first * step.ms * static_cast<double>(count) / ms) : std::nullopt;
  }
};

std::vector<AlikeSteps> alike(const std::vector<EngineStep>& steps) {
  std::vector<AlikeSteps> groups;
  for (const EngineStep& step : steps) {
    auto group = std::ranges::find_if(groups, [&](const AlikeSteps& g) {
      return g.step.kind == step.kind && g.step.shape == step.shape && g.step.precision == step.precision;
    });
    if (group == groups.end()) group = groups.insert(groups.end(), {step});
    ++group->count, group->ms += step.ms;
  }
  return groups;
}

/// Of one step in JSON, of a group in the table.
Fields<EngineStep> step_fields() {
  using Row = EngineStep;
  return {hidden_field<Row>("kind", [](const Row& s) { return s.kind; }),
          hidden_field<Row>("shape", [](const Row& s) { return s.shape; }),
          hidden_field<Row>("weights", [](const Row& s) { return s.weights; }),
          hidden_field<Row>("precision", [](const Row& s) { return s.precision; }),
          hidden_field<Row>("ms", [](const Row& s) { return s.ms; }),
          hidden_field<Row>("gops", [](const Row& s) { return s.gops; }),
          hidden_field<Row>("peak_share", [](const Row& s) { return s.peak_share; })};
}

Fields<AlikeSteps> alike_fields(double total_ms) {
  using Row = AlikeSteps;
  return {text_field<Row>("", "step", [](const Row& g) { return g.step.kind; }),
          text_field<Row>("", "shape", [](const Row& g) { return g.step.shape; }),
          text_field<Row>("", "precision", [](const Row& g) { return g.step.precision; }),
          count_field<Row>("", "times", [](const Row& g) { return g.count; }),
          number_field<Row>(
              "", "ms", [](const Row& g) { return g.ms; }, 3),
          share_field<Row>(
              "", "share", [total_ms](const Row& g) { return g.ms / total_ms; }, 1),
          number_field<Row>(
              "", "GOP/s", [](const Row& g) { return g.scaled(g.step.gops); }, 0),
          share_field<Row>(
              "", "of the peak", [](const Row& g) { return g.scaled(g.step.peak_share); }, 0)};
}

std::string steps_text(const ModelBenchRow& row) {
  double total = 0.0;
  for (const EngineStep& step : row.steps) total += step.ms;
  return fmt::format("\nSteps of {} at {}, each the shortest of its times, together {:.2f} ms\n\n{}", *row.engine,
                     row.resolution, total, fields_table(alike_fields(total), alike(row.steps)));
}

std::optional<ordered_json> steps_json(const ModelBenchRow& row) {
  return row.steps.empty() ? std::nullopt : std::optional(fields_json(step_fields(), row.steps));
}

std::optional<ordered_json> profile_json(const ModelBenchRow& row) {
  if (!row.profile) return std::nullopt;
  const StepProfile& p = *row.profile;
  return ordered_json{
      {"kinds", fields_json(kind_fields(p), p.kinds)}, {"between_ms", p.between_ms}, {"optimizer_ms", p.optimizer_ms}};
}

Fields<ModelBenchRow> row_fields() {
  using Row = ModelBenchRow;
  return {compiled_field("engine", [](const Row& r) { return r.engine.value_or("torch"); }),
          precision_field(),
          hidden_field<Row>("model", [](const Row& r) { return r.model; }),
          torch_field(text_field<Row>("pass", "pass", pass_name)),
          field<Row>(
              "resolution", "resolution", [](const Row& r) { return r.resolution; },
              [](int64_t n) { return std::to_string(n); }),
          torch_field(shown_field<Row>("tokens", [](const Row& r) { return r.tokens ? grouped(*r.tokens) : ""; })),
          optional_field<Row>("tokens", [](const Row& r) { return r.tokens; }),
          hidden_field<Row>("batch", [](const Row& r) { return r.batch; }),
          text_field<Row>("attention", "attention", [](const Row& r) { return r.attention; }),
          number_field<Row>(
              "ms", "ms", [](const Row& r) { return r.ms; }, 2),
          number_field<Row>(
              "ms_median", "median", [](const Row& r) { return r.ms_median; }, 2),
          number_field<Row>(
              "images_per_second", "images/s", [](const Row& r) { return r.images_per_second; }, 2),
          torch_field(number_field<Row>(
              "speedup_over_full", "over full", [](const Row& r) { return r.speedup_over_full; }, 2, " x")),
          number_field<Row>(
              "peak_memory_mb", "MB", [](const Row& r) { return r.peak_memory_mb; }, 0),
          needs_field("needs_memory_mb", "needs MB", 0, 1, [](const Requirements& n) { return n.memory / kMegabyte; }),
          needs_field("needs_work", "needs GMACs", 2, 1e9, [](const Requirements& n) { return 1.0 * n.work; }),
          hidden_field<Row>("reason",
                            [](const Row& r) { return r.reason.empty() ? std::nullopt : std::optional(r.reason); }),
          optional_field<Row>("profile", profile_json),
          optional_field<Row>("steps", steps_json)};
}

/// A curve for each attention, of the rows of one pass that have the value.
Panel panel_of(const ModelBenchReport& r, ModelPass pass, const std::string& title,
               std::optional<double> ModelBenchRow::*value) {
  Panel panel{.title = title, .x_label = "resolution", .y_label = "", .series = {}};
  panel.y.from_zero = true;
  for (const ModelBenchRow& row : r.rows) {
    if (row.pass != pass || !(row.*value)) continue;
    panel.x.ticks.push_back(static_cast<double>(row.resolution));
    const PlotPoint point{static_cast<double>(row.resolution), *(row.*value)};
    const auto same = [&](const Series& s) { return s.name == row.attention; };
    const auto found = std::find_if(panel.series.begin(), panel.series.end(), same);
    if (found != panel.series.end()) {
      found->points.push_back(point);
    } else {
      panel.series.push_back({row.attention, {point}});
    }
  }
  return panel;
}

/// A line for each kind of layer.
std::string profile_text(const ModelBenchRow& row) {
  const StepProfile& p = *row.profile;
  const auto share = [&](double ms) { return fmt::format("{:.0f} %", 100.0 * ms / p.total_ms()); };
  std::vector<KindTime> kinds = p.kinds;
  KindTime all{"all operators", 0, 0};
  for (const KindTime& k : p.kinds) all.forward_ms += k.forward_ms, all.backward_ms += k.backward_ms;
  kinds.push_back(all);
  return fmt::format("\nA step with {} at {}: between operators {:.1f} ms ({}), optimizer {:.1f} ms ({})\n\n{}",
                     row.attention, row.resolution, p.between_ms, share(p.between_ms), p.optimizer_ms,
                     share(p.optimizer_ms), fields_table(kind_fields(p), kinds));
}

}  // namespace

ordered_json model_bench_json(const ModelBenchReport& r) {
  return {{"machine", r.machine}, {"threads", r.threads}, {"rows", fields_json(row_fields(), r.rows)}};
}

std::string model_bench_text(const ModelBenchReport& r) {
  std::string notes, profiles;
  for (const ModelBenchRow& row : r.rows) {
    if (!row.reason.empty())
      notes += fmt::format("{} at {}, {}: {}\n", row.attention, row.resolution, pass_name(row), row.reason);
    if (row.profile) profiles += profile_text(row);
    if (!row.steps.empty()) profiles += steps_text(row);
  }
  const ModelBenchRow& first = r.rows.front();
  return fmt::format("{}, batch {}; {}; {} threads\n\n{}{}{}{}", first.model, first.batch, machine_text(r.machine),
                     r.threads, fields_table(row_fields(), r.rows, first.engine ? 0 : 3), notes.empty() ? "" : "\n",
                     notes, profiles);
}

LinePlot model_bench_plot(const ModelBenchReport& r) {
  const ModelBenchRow& first = r.rows.front();
  LinePlot plot{fmt::format("{}, batch {}, {} threads", first.model, first.batch, r.threads), {}};
  for (ModelPass pass : {ModelPass::forward, ModelPass::training}) {
    const auto add = [&](const char* what, std::optional<double> ModelBenchRow::*value) {
      Panel panel = panel_of(r, pass, fmt::format("{}: {}", to_string(pass), what), value);
      if (!panel.series.empty()) plot.panels.push_back(std::move(panel));
    };
    add("ms", &ModelBenchRow::ms);
    add("peak memory, MB", &ModelBenchRow::peak_memory_mb);
  }
  return plot;
}

}  // namespace fib::report
