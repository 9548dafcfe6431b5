// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "models/torch/conv_layers.h"
#include "robots/torch/encoder.h"

namespace fib::robots {
namespace {

std::shared_ptr<Convolution> plain(int64_t from, int64_t to, int64_t kernel, int64_t stride) {
  return std::make_shared<Convolution>(
      ConvolutionShape{.from = from, .to = to, .kernel = kernel, .dimensions = 2, .stride = stride, .bias = false});
}

/// Sixteen channels a group, at the place of torchvision's batch norms.
std::shared_ptr<GroupNorm> norm_of(int64_t channels) { return std::make_shared<GroupNorm>(channels / 16, channels); }

}  // namespace

class ResNetEncoder::BasicBlock : public torch::nn::Module {
 public:
  BasicBlock(int64_t from, int64_t to, int64_t stride) {
    first_ = register_module("conv1", plain(from, to, 3, stride));
    first_norm_ = register_module("bn1", norm_of(to));
    second_ = register_module("conv2", plain(to, to, 3, 1));
    second_norm_ = register_module("bn2", norm_of(to));
    if (from == to) return;
    models::register_at(*this, "downsample.0", shorter_ = plain(from, to, 1, stride));
    models::register_at(*this, "downsample.1", shorter_norm_ = norm_of(to));
  }

  at::Tensor forward(const at::Tensor& x) const {
    const at::Tensor y = at::relu(first_norm_->forward(first_->forward(x)));
    const at::Tensor skipped = shorter_ ? shorter_norm_->forward(shorter_->forward(x)) : x;
    return at::relu(second_norm_->forward(second_->forward(y)) + skipped);
  }

 private:
  std::shared_ptr<Convolution> first_, second_, shorter_;
  std::shared_ptr<GroupNorm> first_norm_, second_norm_, shorter_norm_;
};

ResNetEncoder::ResNetEncoder(const EncoderSize& size) {
  stem_ = register_module("conv1", plain(3, 64, 7, 2));
  stem_norm_ = register_module("bn1", norm_of(64));
  int64_t from = 64;
  for (int stage = 0; stage < 4; ++stage) {
    const int64_t to = int64_t{64} << stage;
    for (int i = 0; i < 2; ++i, from = to) {
      blocks_.push_back(std::make_shared<BasicBlock>(from, to, from == to ? 1 : 2));
      models::register_at(*this, fmt::format("layer{}.{}", stage + 1, i), blocks_.back());
    }
  }
  keypoints_ =
      register_module("keypoints", std::make_shared<Convolution>(ConvolutionShape{from, size.keypoints, 1, 2}));
  last_ = register_module("last", std::make_shared<models::Linear>(2 * size.keypoints, size.features));
}

at::Tensor ResNetEncoder::forward(const at::Tensor& images) {
  at::Tensor x = at::max_pool2d(at::relu(stem_norm_->forward(stem_->forward(images))), 3, 2, 1);
  for (const auto& block : blocks_) x = block->forward(x);
  return last_->forward(spatial_softmax(keypoints_->forward(x)));
}

at::Tensor spatial_softmax(const at::Tensor& maps) {
  const int64_t height = maps.size(2), width = maps.size(3);
  const at::Tensor weights = maps.flatten(2).softmax(2);  // [N,C,h·w]
  const at::Tensor x = at::linspace(-1, 1, width, maps.options()).repeat({height});
  const at::Tensor y = at::linspace(-1, 1, height, maps.options()).repeat_interleave(width);
  return at::matmul(weights, at::stack({x, y}, 1)).flatten(1);  // [N,C,2] -> [N,2C]
}

}  // namespace fib::robots
