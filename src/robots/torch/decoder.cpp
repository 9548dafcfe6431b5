// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "models/torch/conv_layers.h"
#include "robots/torch/unet.h"

namespace fib::robots {
at::Tensor position_map(int64_t channels, int64_t height, int64_t width, const at::TensorOptions& options) {
  const at::Tensor rows = at::linspace(-1, 1, height, options).view({height, 1}).expand({height, width});
  const at::Tensor columns = at::linspace(-1, 1, width, options).view({1, width}).expand({height, width});
  std::vector<at::Tensor> phases;
  for (int64_t octave = 0; octave < channels / 4; ++octave) {
    const double frequency = std::ldexp(std::numbers::pi, static_cast<int>(octave));
    phases.push_back(frequency * rows);
    phases.push_back(frequency * columns);
  }
  const at::Tensor phase = at::stack(phases);
  return at::cat({phase.sin(), phase.cos()});
}

StateDecoder::StateDecoder(const RobotTask& task, const UnetSize& size)
    : task_(task), positions_(size.decoder_positions) {
  for (const Observation& o : task.observations) o.is_image() ? add_image(o, size) : add_numbers(o, size);
}

void StateDecoder::add_numbers(const Observation& o, const UnetSize& size) {
  const int64_t widths[] = {size.widths.back() / task_.observed, 4 * o.channels, 2 * o.channels, o.channels};
  NumbersPart part;
  for (size_t i = 0; i < 3; ++i) {
    part.layers[i] = std::make_shared<models::Linear>(widths[i], widths[i + 1]);
    models::register_at(*this, fmt::format("{}.{}", o.name, 2 * i), part.layers[i]);
  }
  numbers_.push_back(part);
}

void StateDecoder::add_image(const Observation& o, const UnetSize& size) {
  const int64_t share = size.widths.back() / task_.observed / (TiledImage::kTile * TiledImage::kTile),
                width = size.decoder_width;
  const BlockShape inner{width, width, size.decoder_kernel, size.groups, 2};
  BlockShape outer = inner;
  outer.from = share + size.decoder_positions;
  ImagePart part;
  part.first = std::make_shared<ResidualBlock>(outer);
  part.second = std::make_shared<ResidualBlock>(inner);
  part.upsample = std::make_shared<Convolution>(ConvolutionShape{
      .from = width, .to = width, .kernel = 4, .dimensions = 2, .stride = 2, .padding = 1, .transposed = true});
  part.final_block = std::make_shared<ConvolutionBlock>(inner);
  part.last = std::make_shared<Convolution>(ConvolutionShape{width, o.channels, 1, 2});
  models::register_at(*this, o.name + ".0.0", part.first);
  models::register_at(*this, o.name + ".0.1", part.second);
  models::register_at(*this, o.name + ".0.2.conv", part.upsample);
  models::register_at(*this, o.name + "_final.0", part.final_block);
  models::register_at(*this, o.name + "_final.1", part.last);
  images_.push_back(part);
}

at::Tensor StateDecoder::rebuilt_numbers(const NumbersPart& part, const at::Tensor& share) const {
  const at::Tensor hidden = ops::mish(part.layers[1]->forward(ops::mish(part.layers[0]->forward(share))));
  return part.layers[2]->forward(hidden);
}

at::Tensor StateDecoder::rebuilt_image(const ImagePart& part, const at::Tensor& share, int64_t size) const {
  // The middle's share of one time is laid out as an image of 2 x 2, which tiles the one to rebuild.
  const TiledImage begin{share.reshape({share.size(0), -1, TiledImage::kTile, TiledImage::kTile}),
                         position_map(positions_, size / 2, size / 2, share.options()).unsqueeze(0)};
  const at::Tensor x = part.second->forward(part.first->forward(begin), {});
  return part.last->forward(part.final_block->forward(part.upsample->forward(x)));
}

std::vector<at::Tensor> StateDecoder::forward(const at::Tensor& middle) const {
  const at::Tensor share =
      middle.select(2, 0).reshape({middle.size(0) * task_.observed, -1});  // [B·observed,C/observed]
  std::vector<at::Tensor> rebuilt;
  auto numbers = numbers_.begin();
  auto image = images_.begin();
  for (const Observation& o : task_.observations) {
    rebuilt.push_back(o.is_image() ? rebuilt_image(*image++, share, o.image_size) : rebuilt_numbers(*numbers++, share));
  }
  return rebuilt;
}

}  // namespace fib::robots
