// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/eval.h"

#include <algorithm>

#include "base/stopwatch.h"
#include "cli/engine/engine_model.h"
#include "cli/evaluation.h"
#include "cli/progress.h"
#include "cli/threads.h"
#include "data/loader.h"
#include "data/open_dataset.h"
#include "data/ranked_classes.h"

namespace fib::cli {
namespace {

struct EngineAccuracy {
  int64_t images = 0;
  double top1 = 0, top5 = 0, loss = 0;  ///< sums until they are divided
  double seconds = 0;

  double images_per_second() const { return seconds > 0 ? static_cast<double>(images) / seconds : 0; }

  void add(std::span<const float> logits, size_t label) {
    // Equal logits: the lower class first.
    int64_t before = 0;
    for (size_t c = 0; c < logits.size(); ++c)
      before += logits[c] > logits[label] || (logits[c] == logits[label] && c < label);
    top1 += before < 1, top5 += before < 5;
    loss += log_sum_exp(logits) - static_cast<double>(logits[label]);
    ++images;
  }
  void divide() {
    for (double* sum : {&top1, &top5, &loss}) *sum /= static_cast<double>(std::max<int64_t>(1, images));
  }
};

void check_known(const Dataset& dataset, int64_t classes) {
  const int64_t largest = *std::ranges::max_element(dataset.labels());
  if (largest >= classes)
    throw std::runtime_error(
        fmt::format("the data has a class {}, the model knows classes 0 to {}", largest, classes - 1));
}

void check_takes(const EngineModel& model, const DatasetInfo& data) {
  const auto name = [](bool clips) { return clips ? "clips" : "images"; };
  const bool clips = model.view.clip.frames > 0;
  if (clips != data.clips)
    throw std::invalid_argument(
        fmt::format("{} takes {}, {} has {}", model.model, name(clips), data.name, name(data.clips)));
}

EngineAccuracy measure(EngineModel& model, const DatasetPtr& dataset, int64_t batch_size, bool quiet) {
  LoaderOptions options;
  options.sampler = {.batch = static_cast<size_t>(batch_size), .shuffle = false, .drop_last = false};
  options.workers = default_workers();
  const Loader loader(dataset, Pipeline(model.view), options);
  ProgressBar progress("images", static_cast<int64_t>(dataset->size()), quiet);
  EngineAccuracy accuracy;
  const auto classes = static_cast<size_t>(model.classes());
  const Stopwatch watch;
  BatchStream stream = loader.epoch(0);
  while (const auto batch = stream.next()) {
    const std::vector<float> logits = model.logits(batch->images);
    for (size_t i = 0; i < batch->size(); ++i)
      accuracy.add(std::span(logits).subspan(i * classes, classes), static_cast<size_t>(batch->labels[i]));
    progress.show(accuracy.images);
  }
  accuracy.seconds = watch.seconds();
  accuracy.divide();
  return accuracy;
}

}  // namespace

void eval_with_engine(const EvalArguments& a, const Globals& globals) {
  if (a.subject.data.empty()) throw std::invalid_argument("on which images? Give --data KIND:PATH");
  use_threads(globals);
  EngineModel model(a.engine, a.subject);
  model.data = a.subject.data;
  const DatasetPtr dataset = open_dataset(model.data, DatasetPart::test);
  check_takes(model, dataset->info());
  check_known(*dataset, model.classes());
  const EngineAccuracy accuracy = measure(model, dataset, a.subject.batch, globals.quiet || a.json);
  show_evaluation(model, accuracy, a.json, globals.quiet);
}

}  // namespace fib::cli
