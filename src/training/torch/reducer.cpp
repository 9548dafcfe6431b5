// SPDX-License-Identifier: Apache-2.0
#include "training/torch/reducer.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

namespace fib::training {

/// Runs when a parameter's gradient has been added to its place.
class GradientReducer::Hook : public torch::autograd::FunctionPostHook {
 public:
  Hook(GradientReducer& reducer, size_t bucket) : reducer_(reducer), bucket_(bucket) {}

  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                            const torch::autograd::variable_list& /*inputs*/) override {
    reducer_.on_gradient(bucket_);
    return outputs;
  }

 private:
  GradientReducer& reducer_;
  size_t bucket_;
};

GradientReducer::GradientReducer(FlatParameters& parameters, ProcessGroup& group, int64_t bucket_elements)
    : parameters_(parameters), group_(group) {
  if (group.world() > 1) divide(bucket_elements);
}

GradientReducer::~GradientReducer() {
  for (const Watched& watched : watched_) watched.accumulator->del_post_hook(watched.hook);
}

void GradientReducer::divide(int64_t bucket_elements) {
  int64_t end = parameters_.trained();
  const auto& segments = parameters_.segments();
  for (auto at = segments.rbegin(); at != segments.rend(); ++at) {
    const Segment& segment = *at;
    if (!segment.trained) continue;
    if (buckets_.empty() || buckets_.back().end - buckets_.back().begin >= bucket_elements)
      buckets_.push_back({.begin = end, .end = end});
    buckets_.back().begin = end = segment.offset;
    ++buckets_.back().parameters;
    watch(segment, buckets_.size() - 1);
  }
}

void GradientReducer::watch(const Segment& segment, size_t bucket) {
  const auto accumulator = torch::autograd::impl::grad_accumulator(segment.tensor);
  const uintptr_t hook = accumulator->add_post_hook(std::make_unique<Hook>(*this, bucket));
  watched_.push_back({accumulator, hook});
}

void GradientReducer::arm() {
  armed_ = true;
  sent_.clear();
  for (Bucket& bucket : buckets_) bucket.missing = bucket.parameters;
}

void GradientReducer::on_gradient(size_t bucket) {
  if (!armed_) return;
  --buckets_[bucket].missing;
  while (sent_.size() < buckets_.size() && buckets_[sent_.size()].missing == 0) send_next();
}

void GradientReducer::send_next() {
  const Bucket& bucket = buckets_[sent_.size()];
  sent_.push_back(group_.begin_sum(parameters_.gradients().narrow(0, bucket.begin, bucket.end - bucket.begin)));
}

void GradientReducer::finish() {
  armed_ = false;
  while (sent_.size() < buckets_.size()) send_next();
  for (const auto& pending : sent_) pending->wait();
}

}  // namespace fib::training
