// SPDX-License-Identifier: Apache-2.0
#include "training/torch/optimizer.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace fib::training {
namespace {

/// 32 KiB of floats: long enough to hide the cost of handing it out, short enough to share among threads.
constexpr int64_t kPiece = 8192;

void copy_of_length(at::Tensor& to, const std::string& what, const at::Tensor& from) {
  const int64_t found = from.defined() ? from.numel() : 0, length = to.defined() ? to.numel() : 0;
  if (found != length)
    throw std::invalid_argument(fmt::format("the stored {} has {} numbers, the model {}", what, found, length));
  if (length > 0) to.copy_(from);
}

}  // namespace

OptimizerOptions OptimizerOptions::of(const OptimizerSettings& s, const AverageSettings& ema) {
  return {.name = s.name,
          .update = {.beta1 = s.beta1, .beta2 = s.beta2, .eps = s.eps, .momentum = s.momentum},
          .grad_clip = s.grad_clip,
          .average = AverageSchedule::of(ema)};
}

double l2_norm(const at::Tensor& values) {
  const float* x = values.data_ptr<float>();
  const int64_t size = values.numel();
  std::vector<double> sums(static_cast<size_t>((size + kPiece - 1) / kPiece));
  at::parallel_for(0, static_cast<int64_t>(sums.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p)
      sums[static_cast<size_t>(p)] = square_sum(x + p * kPiece, std::min(kPiece, size - p * kPiece));
  });
  double sum = 0;
  for (const double s : sums) sum += s;
  return std::sqrt(sum);
}

Optimizer::Optimizer(FlatParameters& parameters, std::vector<Group> groups, const OptimizerOptions& options)
    : parameters_(parameters), groups_(std::move(groups)), options_(options), row_(find_optimizer(options.name)) {
  for (size_t i = 0; i < row_.memory.size(); ++i) memory_.push_back(at::zeros({parameters.trained()}));
  if (averages()) average_ = parameters.values().clone();
}

double Optimizer::step(double lr, double scale) {
  const double norm = l2_norm(parameters_.gradients()) * scale;
  if (!std::isfinite(norm)) return norm;
  ++steps_;
  // torch's clip_grad_norm_ adds 1e-6 to the norm.
  const double clipped = options_.grad_clip > 0 ? scale * std::min(1.0, options_.grad_clip / (norm + 1e-6)) : scale;
  for (const Group& group : groups_) update(group, lr * group.lr_scale, clipped);
  if (averages()) update_average();
  return norm;
}

void Optimizer::update(const Group& group, double lr, double gradient_scale) {
  const UpdateStep step{.step = steps_, .lr = lr, .weight_decay = group.weight_decay, .gradient_scale = gradient_scale};
  UpdateArrays arrays{.value = parameters_.values().data_ptr<float>(),
                      .gradient = parameters_.gradients().data_ptr<float>()};
  for (size_t i = 0; i < memory_.size(); ++i) arrays.memory[i] = memory_[i].data_ptr<float>();
  at::parallel_for(group.begin, group.end, kPiece,
                   [&](int64_t begin, int64_t end) { row_.update(arrays, begin, end, step, options_.update); });
}

/// Buffers are averaged like parameters.
void Optimizer::update_average() {
  const auto decay = static_cast<float>(options_.average.decay(steps_));
  const float* value = parameters_.values().data_ptr<float>();
  float* average = average_.data_ptr<float>();
  at::parallel_for(0, parameters_.size(), kPiece,
                   [&](int64_t begin, int64_t end) { average_update(average, value, begin, end, decay); });
}

OptimizerState Optimizer::state() const {
  OptimizerState state{.steps = steps_, .memory = {}, .average = average_};
  for (size_t i = 0; i < memory_.size(); ++i) state.memory.emplace_back(row_.memory[i], memory_[i]);
  return state;
}

void Optimizer::restore(const OptimizerState& state) {
  for (size_t i = 0; i < memory_.size(); ++i) {
    if (i >= state.memory.size() || state.memory[i].first != row_.memory[i])
      throw std::invalid_argument(fmt::format("the stored state has no {} of {}", row_.memory[i], row_.name));
    copy_of_length(memory_[i], row_.memory[i], state.memory[i].second);
  }
  copy_of_length(average_, "average of weights", state.average);
  steps_ = state.steps;
}

}  // namespace fib::training
