// SPDX-License-Identifier: Apache-2.0
#include "training/torch/optimizer.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "training/torch/adam_update.h"

namespace fib::training {
namespace {

/// 32 KiB of floats: long enough to hide the cost of handing it out, short enough to share among threads.
constexpr int64_t kPiece = 8192;

void require_length(const char* what, const at::Tensor& tensor, int64_t length) {
  const int64_t found = tensor.defined() ? tensor.numel() : 0;
  if (found != length)
    throw std::invalid_argument(std::string("the stored ") + what + " has " + std::to_string(found) +
                                " numbers, the model " + std::to_string(length));
}

}  // namespace

double ema_decay(const AdamOptions& options, int64_t step) {
  const double n = static_cast<double>(step);
  return options.ema_warmup ? std::min(options.ema, (1 + n) / (10 + n)) : options.ema;
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

AdamW::AdamW(FlatParameters& parameters, std::vector<Group> groups, const AdamOptions& options)
    : parameters_(parameters),
      groups_(std::move(groups)),
      options_(options),
      mean_(at::zeros({parameters.trained()})),
      square_(at::zeros({parameters.trained()})) {
  if (averages()) average_ = parameters.values().clone();
}

double AdamW::step(double lr, double scale) {
  const double norm = l2_norm(parameters_.gradients()) * scale;
  if (!std::isfinite(norm)) return norm;
  ++steps_;
  // torch's clip_grad_norm_ adds 1e-6 to the norm.
  const double clipped = options_.clip > 0 ? scale * std::min(1.0, options_.clip / (norm + 1e-6)) : scale;
  for (const Group& group : groups_) update(group, lr * group.lr_scale, clipped);
  if (averages()) update_average();
  return norm;
}

void AdamW::update(const Group& group, double lr, double gradient_scale) {
  const double t = static_cast<double>(steps_);
  const AdamCoefficients c{.keep = static_cast<float>(1 - lr * group.weight_decay),
                           .rate = static_cast<float>(lr / (1 - std::pow(options_.beta1, t))),
                           .correction = static_cast<float>(1 / std::sqrt(1 - std::pow(options_.beta2, t))),
                           .beta1 = static_cast<float>(options_.beta1),
                           .beta2 = static_cast<float>(options_.beta2),
                           .one_minus_beta1 = static_cast<float>(1 - options_.beta1),
                           .one_minus_beta2 = static_cast<float>(1 - options_.beta2),
                           .eps = static_cast<float>(options_.eps),
                           .gradient_scale = static_cast<float>(gradient_scale)};
  const AdamArrays arrays{parameters_.values().data_ptr<float>(), parameters_.gradients().data_ptr<float>(),
                          mean_.data_ptr<float>(), square_.data_ptr<float>()};
  at::parallel_for(group.begin, group.end, kPiece,
                   [&](int64_t begin, int64_t end) { adam_update(arrays, begin, end, c); });
}

/// Buffers are averaged like parameters.
void AdamW::update_average() {
  const auto decay = static_cast<float>(ema_decay(options_, steps_));
  const float* value = parameters_.values().data_ptr<float>();
  float* average = average_.data_ptr<float>();
  at::parallel_for(0, parameters_.size(), kPiece,
                   [&](int64_t begin, int64_t end) { average_update(average, value, begin, end, decay); });
}

void AdamW::restore(const State& state) {
  require_length("mean of gradients", state.mean, mean_.numel());
  require_length("square of gradients", state.square, square_.numel());
  require_length("average of weights", state.average, averages() ? average_.numel() : 0);
  steps_ = state.steps;
  mean_.copy_(state.mean);
  square_.copy_(state.square);
  if (averages()) average_.copy_(state.average);
}

}  // namespace fib::training
