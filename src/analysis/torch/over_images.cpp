// SPDX-License-Identifier: Apache-2.0
#include "analysis/torch/over_images.h"

#include <algorithm>
#include <stdexcept>

#include "analysis/torch/attention_maps.h"
#include "analysis/torch/measures.h"
#include "attention/registry.h"

namespace fib::analysis {
namespace {

using training::TrainedModel;

at::Tensor as_tensor(const PatchRegion& region) {
  const at::Tensor inside = at::zeros({static_cast<int64_t>(region.size())}, at::kBool);
  std::copy(region.begin(), region.end(), inside.data_ptr<bool>());
  return inside;
}

void add(MeanAndVariance& sum, const MeanAndVariance& part) {
  sum.mean += part.mean;
  sum.variance += part.variance;
}

void divide(MeanAndVariance& sum, double by) {
  sum.mean /= by;
  sum.variance /= by;
}

class InsideSums {
 public:
  void add_image(const at::Tensor& weights, const PatchRegion& region) {
    const auto patches = std::count(region.begin(), region.end(), true);
    if (patches == 0) return;
    const InsideAttention inside =
        inside_attention(weights, as_tensor(region), weights.size(1) - static_cast<int64_t>(region.size()));
    add(sums_.mean.averaged, inside.averaged);
    add(sums_.mean.each, inside.each);
    sums_.region_share += static_cast<double>(patches) / static_cast<double>(region.size());
    ++sums_.images;
  }

  InsideOver result() const {
    if (sums_.images == 0) throw std::invalid_argument("no image has an object region that holds a patch");
    InsideOver means = sums_;
    const auto count = static_cast<double>(sums_.images);
    divide(means.mean.averaged, count);
    divide(means.mean.each, count);
    means.region_share /= count;
    return means;
  }

 private:
  InsideOver sums_;
};

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

std::optional<std::string> why_no_attention_maps(const models::Model& model) {
  const models::Dimensions& d = model.dimensions();
  const bool joint = d.options.attention_in == models::AttentionIn::joint;
  const attention::Grid grid = joint ? attention::Grid{d.grid().height, d.grid().width, d.frames()} : d.grid();
  const auto mechanisms = model.attentions();
  for (int64_t layer : layers_with_maps(model)) {
    const auto& mechanism = mechanisms[static_cast<size_t>(layer)];
    const attention::MechanismInfo& info = mechanism->info();
    if (!info.map_refusal.empty()) return info.name + " " + info.map_refusal + ": it has no attention map";
    const attention::Geometry& g = mechanism->geometry();
    if (!(g.query_grid == grid && g.key_grid == grid && g.cls == 1))
      return d.row.name + " does not attend from a class token over all patches in every layer: no maps";
  }
  return std::nullopt;
}

void require_attention_maps(const models::Model& model) {
  if (const auto reason = why_no_attention_maps(model)) throw std::invalid_argument(*reason);
}

std::vector<double> diversity_over(const TrainedModel& subject, const DatasetPtr& images, int64_t layer,
                                   const ImagesDone& done) {
  std::vector<double> values;
  for_each_batch(subject, images, done, [&](Batch& batch) {
    at::Tensor part = head_diversity(subject.module->head_outputs(images_of(batch), layer)).contiguous();
    if (subject.module->dimensions().takes_clips())  // the mean of its frames
      part = part.view({static_cast<int64_t>(batch.size()), -1}).mean(1);
    if (part.numel() != static_cast<int64_t>(batch.size()))
      throw std::invalid_argument(subject.model + " attends within windows: it has no head outputs of a whole image");
    values.insert(values.end(), part.data_ptr<double>(), part.data_ptr<double>() + part.numel());
  });
  return values;
}

InsideOver inside_over(const TrainedModel& subject, const DatasetPtr& images, int64_t layer, const RegionOf& region,
                       const ImagesDone& done) {
  require_attention_maps(*subject.module);
  if (subject.module->dimensions().takes_clips())
    throw std::invalid_argument(subject.model + " takes clips, and objects are known in images");
  InsideSums sums;
  for_each_batch(subject, images, done, [&](Batch& batch) {
    const at::Tensor weights = subject.module->inspect(images_of(batch), layer).probabilities;
    for (size_t i = 0; i < batch.size(); ++i)
      sums.add_image(weights[static_cast<int64_t>(i)], region(*images, batch.indices[i]));
  });
  return sums.result();
}

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
