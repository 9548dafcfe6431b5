// SPDX-License-Identifier: Apache-2.0
#include "models/torch/conv_layers.h"

#include <cmath>

namespace fib::models {
namespace {

constexpr double kBatchNormEps = 1e-5;
constexpr double kMomentum = 0.1;

class Container : public torch::nn::Module {};

}  // namespace

BatchNorm::BatchNorm(int64_t channels) {
  weight = register_parameter("weight", at::empty({channels}));
  bias = register_parameter("bias", at::empty({channels}));
  running_mean = register_buffer("running_mean", at::zeros({channels}));
  running_var = register_buffer("running_var", at::ones({channels}));
  num_batches_tracked = register_buffer("num_batches_tracked", at::zeros({}, at::kLong));
}

at::Tensor BatchNorm::forward(const at::Tensor& x) {
  if (is_training()) num_batches_tracked.add_(1);
  at::Tensor y =
      at::batch_norm(x, weight, bias, running_mean, running_var, is_training(), kMomentum, kBatchNormEps, false);
  // LibTorch 1.13 gives wrong gradients for a single sample whose gradient lies with channels last, as that of tokens.
  if (y.requires_grad()) y.register_hook([](const at::Tensor& gradient) { return gradient.contiguous(); });
  return y;
}

at::Tensor BatchNorm::factor() const { return weight * (running_var + kBatchNormEps).rsqrt(); }

Conv::Conv(const ConvConfig& config) : config_(config) {
  const int64_t from = config.depthwise ? 1 : config.from;
  weight = register_parameter("weight", at::empty({config.to, from, config.kernel, config.kernel}));
  if (config.bias) bias = register_parameter("bias", at::empty({config.to}));
}

at::Tensor Conv::forward(const at::Tensor& x, const at::Tensor& other_weight, const at::Tensor& other_bias) const {
  const int64_t padding = config_.padding.value_or(config_.kernel / 2);
  return at::conv2d(x, other_weight, other_bias, config_.stride, padding, 1, config_.depthwise ? config_.from : 1);
}

ConvNorm::ConvNorm(const ConvConfig& config, const char* conv_name) {
  conv_ = register_module(conv_name, std::make_shared<Conv>(config));
  norm_ = register_module("bn", std::make_shared<BatchNorm>(config.to));
}

ConvNorm::Folded ConvNorm::folded() const {
  const at::Tensor factor = norm_->factor();
  return {conv_->weight * factor.view({-1, 1, 1, 1}), norm_->bias - norm_->running_mean * factor};
}

at::Tensor ConvNorm::forward(const at::Tensor& x) {
  if (!foldable()) return norm_->forward(conv_->forward(x));
  const Folded f = folded();
  return conv_->forward(x, f.weight, f.bias);
}

at::Tensor ConvNorm::forward_tokens(const at::Tensor& x) {
  if (foldable()) {
    const Folded f = folded();
    return at::linear(x, f.weight.flatten(1), f.bias);
  }
  const at::Tensor mapped = at::linear(x, conv_->weight.flatten(1));
  return norm_->forward(mapped.flatten(0, 1)).view(mapped.sizes());
}

void register_at(torch::nn::Module& root, const std::string& path, std::shared_ptr<torch::nn::Module> part) {
  const size_t dot = path.find('.');
  if (dot == std::string::npos) {
    root.register_module(path, std::move(part));
    return;
  }
  const std::string first = path.substr(0, dot);
  const auto children = root.named_children();
  const auto* child = children.find(first);
  const std::shared_ptr<torch::nn::Module> next =
      child != nullptr ? *child : root.register_module(first, std::make_shared<Container>());
  register_at(*next, path.substr(dot + 1), std::move(part));
}

void initialize_convolutional(torch::nn::Module& module, KernelStart kernels) {
  const at::NoGradGuard no_grad;
  module.apply([kernels](torch::nn::Module& part) {
    for (auto& item : part.named_parameters(false)) {
      if (item.key() == "weight" && item.value().dim() == 1) item.value().fill_(1.0);
      if (item.key() == "weight" && item.value().dim() > 1) item.value().normal_(0.0, 0.02);
      if (item.key() == "bias") item.value().zero_();
    }
    auto* conv = part.as<Conv>();
    if (conv == nullptr || kernels == KernelStart::normal) return;
    const double bound = 1.0 / std::sqrt(static_cast<double>(conv->weight[0].numel()));
    conv->weight.uniform_(-bound, bound);
    if (conv->bias.defined()) conv->bias.uniform_(-bound, bound);
  });
}

}  // namespace fib::models
