// SPDX-License-Identifier: Apache-2.0
#include "prediction/accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "base/measure.h"

namespace fib::prediction {

void AccuracySums::add(std::span<const float> logits, int64_t label) {
  const auto truth = static_cast<size_t>(label);
  int64_t before = 0;
  for (size_t c = 0; c < logits.size(); ++c) {
    const bool below = logits[c] < logits[truth] || (logits[c] == logits[truth] && c >= truth);
    before += below ? 0 : 1;  // NaN is below nothing, so that it never counts as a hit
  }
  values[0] += 1;
  values[1] += before < 1;
  values[2] += before < 5;
  values[3] += log_sum_exp(logits) - static_cast<double>(logits[truth]);
}

Accuracy AccuracySums::result(double seconds) const {
  return {.images = images(),
          .top1 = values[1] / values[0],
          .top5 = values[2] / values[0],
          .loss = values[3] / values[0],
          .seconds = seconds};
}

void for_each_logits(Predictor& predictor, const Loader& loader, const LogitsSeen& seen) {
  BatchStream stream = loader.epoch(0);
  while (std::optional<Batch> batch = stream.next())
    seen(*batch, batch->size() == 0 ? std::vector<float>() : predictor.logits(batch->images));
}

Accuracy measure_accuracy(Predictor& predictor, const Loader& loader, const AccuracyHooks& hooks) {
  const Stopwatch watch;
  AccuracySums sums;
  const auto classes = static_cast<size_t>(predictor.info().classes);
  for_each_logits(predictor, loader, [&](Batch& batch, std::span<const float> logits) {
    for (size_t i = 0; i < batch.size(); ++i) sums.add(logits.subspan(i * classes, classes), batch.labels[i]);
    if (hooks.seen && batch.size() > 0) hooks.seen(batch, logits);
    if (hooks.done) hooks.done(sums.images());
  });
  if (hooks.sum_over_processes) hooks.sum_over_processes(sums.values);
  return sums.result(watch.seconds());
}

std::vector<Prediction> predict_over(Predictor& predictor, const Loader& loader) {
  std::vector<Prediction> list;
  const auto classes = static_cast<size_t>(predictor.info().classes);
  for_each_logits(predictor, loader, [&](const Batch& batch, std::span<const float> logits) {
    for (size_t i = 0; i < batch.size(); ++i) {
      const RankedClass best = best_classes(logits.subspan(i * classes, classes), 1, {}).front();
      list.push_back({batch.indices[i], batch.labels[i], best.index, best.probability});
    }
  });
  return list;
}

std::vector<std::vector<int64_t>> confusion(const std::vector<Prediction>& predictions, int64_t classes) {
  const auto side = static_cast<size_t>(classes);
  std::vector<std::vector<int64_t>> counts(side, std::vector<int64_t>(side));
  for (const Prediction& p : predictions) ++counts[static_cast<size_t>(p.truth)][static_cast<size_t>(p.predicted)];
  return counts;
}

std::vector<Prediction> worst_mistakes(const std::vector<Prediction>& predictions, size_t count) {
  std::vector<Prediction> wrong;
  for (const Prediction& p : predictions)
    if (p.truth != p.predicted) wrong.push_back(p);
  std::stable_sort(wrong.begin(), wrong.end(),
                   [](const Prediction& a, const Prediction& b) { return a.probability > b.probability; });
  wrong.resize(std::min(wrong.size(), count));
  return wrong;
}

void check_labels(const Dataset& dataset, int64_t classes) {
  const int64_t largest = *std::ranges::max_element(dataset.labels());
  if (largest >= classes)
    throw std::runtime_error(
        fmt::format("the data has a class {}, the model knows classes 0 to {}", largest, classes - 1));
}

void check_takes(const std::string& model, bool takes_clips, const DatasetInfo& data) {
  const auto name = [](bool clips) { return clips ? "clips" : "images"; };
  if (takes_clips != data.clips)
    throw std::invalid_argument(
        fmt::format("{} takes {}, {} has {}", model, name(takes_clips), data.name, name(data.clips)));
}

Loader loader_in_order(const DatasetPtr& images, const PipelineConfig& view, int64_t batch) {
  LoaderOptions options;
  options.sampler = {.batch = static_cast<size_t>(batch), .shuffle = false, .drop_last = false};
  options.workers = default_workers();
  return Loader(images, Pipeline(view), options);
}

}  // namespace fib::prediction
