// SPDX-License-Identifier: Apache-2.0
#include "report/torch/run_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/paper/tables.h"
#include "analysis/statistics.h"
#include "analysis/torch/over_images.h"
#include "attention/registry.h"
#include "base/read_file.h"
#include "report/attention_drawing.h"
#include "report/torch/attention_sheet.h"
#include "training/run/summary.h"

namespace fib::report {
namespace {

using training::TrainedModel;

void add_summary(PageRun& run, const TrainedModel& subject) {
  const training::RunFiles files{run.directory};
  const training::Summary summary = training::read_summary(files);
  run.top5 = summary.test.evaluation.value("top5");
  run.test_samples = summary.test.evaluation.samples;
  run.parameters = summary.parameters;
  run.gmacs = subject.module->cost().total() / 1e9;
  run.config = read_file(files.config(), kMaxRecipeBytes);
}

void add_support(PageRun& run, const TrainedModel& subject) {
  for (const auto& mechanism : subject.module->attentions()) {
    if (!mechanism->info().support_set) continue;
    run.support = attention::layer_support(mechanism->spec(), mechanism->geometry());
    return;
  }
}

void add_diversity(PageRun& run, const TrainedModel& subject, int64_t images) {
  const auto mechanisms = subject.module->attentions();
  const attention::Geometry& last = mechanisms.back()->geometry();
  if (last.heads < 2 || !(last.query_grid == subject.module->dimensions().grid())) return;
  const DatasetPtr chosen = training::evenly_chosen(subject.dataset, static_cast<size_t>(images));
  const auto n = analysis::five_numbers(
      analysis::diversity_over(subject, chosen, static_cast<int64_t>(mechanisms.size()) - 1, {}));
  run.diversity = Box{subject.name, n.min, n.q1, n.median, n.q3, n.max};
}

void add_predictions(PageRun& run, const TrainedModel& subject, const ReportEffort& effort) {
  const DatasetPtr images = training::evenly_chosen(subject.dataset, static_cast<size_t>(effort.images));
  training::TorchPredictor predictor(subject);
  const auto predictions = prediction::predict_over(predictor, *subject.loader(images));
  run.confusion = prediction::confusion(predictions, predictor.info().classes);
  for (const auto& p : prediction::worst_mistakes(predictions, static_cast<size_t>(effort.mistakes)))
    run.mistakes.push_back({images->item_name(p.index), small_view(subject, shown(subject, *images, p.index)), p.truth,
                            p.predicted, p.probability});
}

void add_maps(PageRun& run, const TrainedModel& subject, const ReportEffort& effort) {
  if (analysis::why_no_attention_maps(*subject.module)) return;
  const DatasetPtr images = training::evenly_chosen(subject.dataset, static_cast<size_t>(effort.samples));
  for (size_t i = 0; i < images->size(); ++i) {
    const LookedAt looked = look_at(subject, shown(subject, *images, i), std::nullopt);
    const at::Tensor last = looked.maps.from_cls[looked.maps.from_cls.size(0) - 1];
    run.maps.push_back(
        {numbers(looked.maps.rollout), mean_of_heads(number_rows(last)), looked.predicted, looked.probability});
  }
}

}  // namespace

std::vector<Sample> report_samples(const TrainedModel& subject, const ReportEffort& effort) {
  const DatasetPtr images = training::evenly_chosen(subject.dataset, static_cast<size_t>(effort.samples));
  std::vector<Sample> samples;
  for (size_t i = 0; i < images->size(); ++i)
    samples.push_back({images->item_name(i), small_view(subject, shown(subject, *images, i)), images->label(i)});
  return samples;
}

PageRun report_run(const std::string& directory, const TrainedModel& subject, const ReportEffort& effort,
                   const std::function<void(const std::string&)>& say) {
  PageRun run;
  run.directory = directory;
  run.record = read_run(directory);
  run.record.name = subject.name;
  add_summary(run, subject);
  add_support(run, subject);
  say("predictions of " + subject.name);
  add_predictions(run, subject, effort);
  say("head diversity of " + subject.name);
  add_diversity(run, subject, effort.diversity_images);
  say("attention maps of " + subject.name);
  add_maps(run, subject, effort);
  return run;
}

std::vector<Box> paper_boxes(const std::vector<PageRun>& runs) {
  std::vector<Box> boxes;
  for (const PageRun& run : runs) {
    const std::string name = AttentionSpec::parse(run.record.attention).name;
    const auto p = paper::head_diversity(name);
    const auto same = [&](const Box& box) { return box.name == name; };
    if (p && std::none_of(boxes.begin(), boxes.end(), same))
      boxes.push_back({name, p->min, p->q1, p->median, p->q3, p->max, true});
  }
  return boxes;
}

}  // namespace fib::report
