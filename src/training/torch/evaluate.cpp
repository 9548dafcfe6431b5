// SPDX-License-Identifier: Apache-2.0
#include "training/torch/evaluate.h"

#include <algorithm>
#include <chrono>

namespace fib::training {
namespace {

/// Images, top-1 hits, top-5 hits, sum of losses: sums over batches and processes.
struct Sums {
  at::Tensor values = at::zeros({4}, at::kDouble);

  void add(const at::Tensor& logits, const at::Tensor& labels) {
    const int64_t k = std::min<int64_t>(5, logits.size(1));
    const at::Tensor hits = std::get<1>(logits.topk(k, 1)).eq(labels.unsqueeze(1));  // [B,k]
    double* sums = values.data_ptr<double>();
    sums[0] += static_cast<double>(labels.size(0));
    sums[1] += hits.select(1, 0).sum().item<double>();
    sums[2] += hits.sum().item<double>();
    sums[3] += at::cross_entropy_loss(logits.to(at::kDouble), labels, {}, at::Reduction::Sum).item<double>();
  }

  int64_t images() const { return static_cast<int64_t>(values.data_ptr<double>()[0]); }

  Evaluation result(double seconds) const {
    const double* sums = values.data_ptr<double>();
    return {.images = images(),
            .top1 = sums[1] / sums[0],
            .top5 = sums[2] / sums[0],
            .loss = sums[3] / sums[0],
            .seconds = seconds};
  }
};

void add_batch(Sums& sums, models::Model& model, Batch& batch) {
  if (batch.size() == 0) return;
  const auto count = static_cast<int64_t>(batch.size());
  const at::Tensor images = at::from_blob(batch.images.data(), {count, batch.channels, batch.height, batch.width});
  sums.add(model.forward(images), at::from_blob(batch.labels.data(), {count}, at::kLong));
}

class EvalMode {
 public:
  explicit EvalMode(models::Model& model) : model_(model), was_training_(model.is_training()) { model.eval(); }
  ~EvalMode() { model_.train(was_training_); }
  EvalMode(const EvalMode&) = delete;
  EvalMode& operator=(const EvalMode&) = delete;

 private:
  models::Model& model_;
  bool was_training_;
};

}  // namespace

Evaluation evaluate(models::Model& model, const Loader& loader, ProcessGroup& group,
                    const EvaluationProgress& progress) {
  const auto start = std::chrono::steady_clock::now();
  const EvalMode eval_mode(model);
  const torch::NoGradGuard no_grad;
  const auto total = static_cast<int64_t>(loader.dataset().size());
  Sums sums;
  BatchStream stream = loader.epoch(0);
  while (std::optional<Batch> batch = stream.next()) {
    add_batch(sums, model, *batch);
    if (progress) progress(std::min(total, sums.images() * group.world()), total);
  }
  group.sum(sums.values);
  return sums.result(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

}  // namespace fib::training
