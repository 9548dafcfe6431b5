// SPDX-License-Identifier: Apache-2.0
#include "training/torch/flat_parameters.h"

#include <algorithm>
#include <stdexcept>

#include "models/torch/weights.h"

namespace fib::training {
namespace {

/// Segments begin at multiples of a cache line, so that kernels find each tensor aligned as if it were alone.
constexpr int64_t kAlignment = 16;

int64_t aligned(int64_t elements) { return (elements + kAlignment - 1) / kAlignment * kAlignment; }

void require_plain(const std::string& name, const at::Tensor& tensor) {
  if (tensor.scalar_type() == at::kFloat && tensor.device().is_cpu()) return;
  throw std::invalid_argument("'" + name + "' is " + tensor.toString() + ", training is for float32 on the CPU");
}

at::Tensor view_of(const at::Tensor& flat, const Segment& segment) {
  return flat.narrow(0, segment.offset, segment.size).view(segment.tensor.sizes());
}

}  // namespace

FlatParameters::FlatParameters(torch::nn::Module& model) {
  lay_out(model);
  move_in();
}

void FlatParameters::lay_out(torch::nn::Module& model) {
  int64_t offset = 0;
  const auto add = [&](const std::string& name, const at::Tensor& tensor, bool parameter, bool trained) {
    require_plain(name, tensor);
    segments_.push_back({name, tensor, offset, tensor.numel(), parameter, trained});
    offset += aligned(tensor.numel());
  };
  const auto add_parameters = [&](bool trained) {
    for (const auto& item : model.named_parameters())
      if (item.value().requires_grad() == trained) add(item.key(), item.value(), true, trained);
  };
  add_parameters(true);
  trained_ = offset;
  for (const auto& item : model.named_buffers())
    if (item.value().is_floating_point() && !models::is_constructed(item.key()))
      add(item.key(), item.value(), false, false);
  changing_ = offset;
  add_parameters(false);
  values_ = at::zeros({offset});
  gradients_ = at::zeros({trained_});
}

void FlatParameters::move_in() {
  const torch::NoGradGuard no_grad;
  for (Segment& segment : segments_) {
    const at::Tensor place = view_of(values_, segment);
    place.copy_(segment.tensor);
    segment.tensor.set_data(place);
    if (segment.trained) segment.tensor.mutable_grad() = view_of(gradients_, segment);
  }
}

int64_t FlatParameters::parameters() const {
  int64_t count = 0;
  for (const Segment& segment : segments_)
    if (segment.parameter) count += segment.size;
  return count;
}

void FlatParameters::restore(const at::Tensor& values) {
  if (values.numel() != size())
    throw std::invalid_argument("the stored weights have " + std::to_string(values.numel()) + " numbers, the model " +
                                std::to_string(size()));
  values_.copy_(values);
}

void FlatParameters::swap_values(at::Tensor& other) {
  float* mine = values_.data_ptr<float>();
  std::swap_ranges(mine, mine + size(), other.data_ptr<float>());
}

}  // namespace fib::training
