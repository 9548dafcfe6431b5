// SPDX-License-Identifier: Apache-2.0
#include "analysis/torch/over_images.h"

#include <algorithm>
#include <stdexcept>

#include "analysis/torch/attention_maps.h"
#include "analysis/torch/diversity.h"
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

}  // namespace

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

}  // namespace fib::analysis
