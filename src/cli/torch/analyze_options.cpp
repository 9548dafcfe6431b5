// SPDX-License-Identifier: Apache-2.0
#include "cli/torch/analyze_options.h"

#include <fmt/format.h>

#include "cli/progress.h"

namespace fib::cli {

int64_t chosen_layer(const AnalyzeArguments& a, const models::Model& model) {
  const auto depth = static_cast<int64_t>(model.attentions().size());
  if (a.layer > depth)
    throw std::invalid_argument(
        fmt::format("--layer {}: {} has layers 1 to {}", a.layer, model.dimensions().row.name, depth));
  return (a.layer == 0 ? depth : a.layer) - 1;
}

DatasetPtr chosen_images(const AnalyzeArguments& a, const training::TrainedModel& subject) {
  return training::evenly_chosen(subject.dataset, static_cast<size_t>(a.images));
}

void with_progress(const training::TrainedModel& subject, const DatasetPtr& images, bool quiet,
                   const std::function<void(const analysis::ImagesDone&)>& work) {
  ProgressBar progress("images", static_cast<int64_t>(images->size()), quiet);
  work([&](int64_t done) { progress.show(done, subject.name); });
}

}  // namespace fib::cli
