// SPDX-License-Identifier: Apache-2.0
#include "analysis/torch/attention_by_distance.h"

#include <stdexcept>

namespace fib::analysis {
namespace {

/// What all mechanisms of a model are given, while it lives.
class InputsWatch {
 public:
  explicit InputsWatch(const models::Model& model) : mechanisms_(model.attentions()) {
    inputs.resize(mechanisms_.size());
    for (size_t i = 0; i < mechanisms_.size(); ++i) mechanisms_[i]->show_inputs_to(&inputs[i]);
  }
  ~InputsWatch() {
    for (const auto& mechanism : mechanisms_) mechanism->show_inputs_to(nullptr);
  }
  InputsWatch(const InputsWatch&) = delete;
  InputsWatch& operator=(const InputsWatch&) = delete;

  std::vector<attention::Inputs> inputs;

 private:
  std::vector<attention::MechanismPtr> mechanisms_;
};

void require_dense(const models::Model& model) {
  for (const auto& mechanism : model.attentions()) {
    if (!mechanism->info().dense)
      throw std::invalid_argument(mechanism->spec().to_string() +
                                  " leaves pairs out: offsets are measured on a dense model");
    if (!mechanism->geometry().square())
      throw std::invalid_argument(model.dimensions().row.name + " attends from one grid to another: it has no offsets");
  }
}

/// [H,N] from the weights [B,H,T,T].
at::Tensor by_distance(const at::Tensor& weights, int64_t cls) {
  const int64_t patches = weights.size(2) - cls;
  const at::Tensor w = weights.narrow(2, cls, patches).narrow(3, cls, patches).to(at::kDouble).sum(0);  // [H,N,N]
  const at::Tensor sums = at::empty({w.size(0), patches}, at::kDouble);
  for (int64_t d = 0; d < patches; ++d) {
    const at::Tensor one_way = w.diagonal(d, 1, 2).sum(1);
    sums.select(1, d).copy_(d == 0 ? one_way : one_way + w.diagonal(-d, 1, 2).sum(1));
  }
  return sums;
}

std::vector<double> row_of(const at::Tensor& sums, int64_t head, double images) {
  const at::Tensor row = (sums[head] / images).contiguous();
  return {row.data_ptr<double>(), row.data_ptr<double>() + row.numel()};
}

}  // namespace

std::vector<std::vector<std::vector<double>>> attention_by_distance(const training::TrainedModel& subject,
                                                                    const DatasetPtr& images, const ImagesDone& done) {
  require_dense(*subject.module);
  const auto mechanisms = subject.module->attentions();
  std::vector<at::Tensor> sums(mechanisms.size());
  int64_t samples = 0;
  for_each_batch(subject, images, done, [&](Batch& batch) {
    const InputsWatch watch(*subject.module);
    subject.module->features(images_of(batch));
    samples += static_cast<int64_t>(batch.size()) * batch.views;
    for (size_t i = 0; i < mechanisms.size(); ++i) {
      const at::Tensor part = by_distance(mechanisms[i]->probabilities(watch.inputs[i]), mechanisms[i]->geometry().cls);
      sums[i] = sums[i].defined() ? sums[i] + part : part;
    }
  });
  if (samples == 0) throw std::invalid_argument("there is no image to measure attention on");
  std::vector<std::vector<std::vector<double>>> result(mechanisms.size());
  for (size_t i = 0; i < mechanisms.size(); ++i)
    for (int64_t h = 0; h < sums[i].size(0); ++h) result[i].push_back(row_of(sums[i], h, static_cast<double>(samples)));
  return result;
}

}  // namespace fib::analysis
