// SPDX-License-Identifier: Apache-2.0
#include "analysis/torch/batches.h"

namespace fib::analysis {

void for_each_batch(const training::TrainedModel& subject, const DatasetPtr& images, const ImagesDone& done,
                    const std::function<void(Batch&)>& use) {
  const at::NoGradGuard no_grad;
  const auto loader = subject.loader(images);
  BatchStream stream = loader->epoch(0);
  int64_t seen = 0;
  while (std::optional<Batch> batch = stream.next()) {
    use(*batch);
    if (done) done(seen += static_cast<int64_t>(batch->size()));
  }
}

}  // namespace fib::analysis
