// SPDX-License-Identifier: Apache-2.0
#include "analysis/torch/predictions.h"

#include <algorithm>

#include "analysis/torch/batches.h"

namespace fib::analysis {

std::vector<Prediction> predict_over(const training::TrainedModel& subject, const DatasetPtr& images,
                                     const ImagesDone& done) {
  std::vector<Prediction> list;
  for_each_batch(subject, images, done, [&](Batch& batch) {
    const auto [probability, predicted] = at::softmax(training::scores_of(*subject.module, batch), 1).max(1);
    for (size_t i = 0; i < batch.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      list.push_back(
          {batch.indices[i], batch.labels[i], predicted[at].item<int64_t>(), probability[at].item<double>()});
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

}  // namespace fib::analysis
