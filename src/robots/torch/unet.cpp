// SPDX-License-Identifier: Apache-2.0
#include "robots/torch/unet.h"

#include <fmt/format.h>

#include <cmath>

#include "models/torch/conv_layers.h"

namespace fib::robots {

using models::register_at;

ConditionalUnet::ConditionalUnet(const RobotTask& task, const UnetSize& size, int64_t condition)
    : step_embedding_(size.step_embedding) {
  const int64_t whole = size.step_embedding + condition;
  const auto block = [&](int64_t from, int64_t to) { return BlockShape{from, to, size.kernel, size.groups, 1, whole}; };
  const auto down = [](int64_t w) { return ConvolutionShape{.from = w, .to = w, .kernel = 3, .stride = 2}; };
  const auto up = [](int64_t w) {
    return ConvolutionShape{.from = w, .to = w, .kernel = 4, .stride = 2, .padding = 1, .transposed = true};
  };
  add_middle(block(size.widths.back(), size.widths.back()));
  step_first_ = std::make_shared<models::Linear>(size.step_embedding, 4 * size.step_embedding);
  step_second_ = std::make_shared<models::Linear>(4 * size.step_embedding, size.step_embedding);
  register_at(*this, "diffusion_step_encoder.1", step_first_);
  register_at(*this, "diffusion_step_encoder.3", step_second_);
  // The way up ends one level before the way down began: its first skip is never used, as published.
  for (size_t i = size.widths.size() - 1; i > 0; --i) {
    const int64_t wide = size.widths[i], narrow = size.widths[i - 1];
    up_.push_back(add_level(fmt::format("up_modules.{}", up_.size()), block(2 * wide, narrow), up(narrow)));
  }
  for (size_t i = 0; i < size.widths.size(); ++i) {
    const bool last = i + 1 == size.widths.size();
    const BlockShape shape = block(i == 0 ? task.action : size.widths[i - 1], size.widths[i]);
    down_.push_back(
        add_level(fmt::format("down_modules.{}", i), shape, last ? ConvolutionShape{} : down(size.widths[i])));
  }
  const int64_t width = size.widths.front();
  final_block_ = std::make_shared<ConvolutionBlock>(BlockShape{width, width, size.kernel, size.groups});
  final_ = std::make_shared<Convolution>(ConvolutionShape{width, task.action, 1});
  register_at(*this, "final_conv.0", final_block_);
  register_at(*this, "final_conv.1", final_);
  decoder_ = register_module("decs", std::make_shared<StateDecoder>(task, size));
}

ConditionalUnet::Level ConditionalUnet::add_level(const std::string& path, const BlockShape& shape,
                                                  const ConvolutionShape& resample) {
  BlockShape second = shape;
  second.from = shape.to;
  Level level{std::make_shared<ResidualBlock>(shape), std::make_shared<ResidualBlock>(second), nullptr};
  register_at(*this, path + ".0", level.first);
  register_at(*this, path + ".1", level.second);
  if (resample.to > 0) {
    level.resample = std::make_shared<Convolution>(resample);
    register_at(*this, path + ".2.conv", level.resample);
  }
  return level;
}

void ConditionalUnet::add_middle(const BlockShape& shape) {
  for (int i = 0; i < 2; ++i) {
    middle_.push_back(std::make_shared<ResidualBlock>(shape));
    register_at(*this, fmt::format("mid_modules.{}", i), middle_.back());
  }
}

at::Tensor ConditionalUnet::embedded(const at::Tensor& times, at::ScalarType type) const {
  const int64_t half = step_embedding_ / 2;
  const at::Tensor i = at::arange(half, times.options().dtype(type));
  const at::Tensor phase = times.to(type).unsqueeze(1) * at::exp(i * (-std::log(1e4) / static_cast<double>(half - 1)));
  const at::Tensor waves = at::cat({phase.sin(), phase.cos()}, 1);
  return step_second_->forward(ops::mish(step_first_->forward(waves)));
}

Denoised ConditionalUnet::forward(const at::Tensor& actions, const at::Tensor& times,
                                  const at::Tensor& condition) const {
  const at::Tensor all = ops::mish(at::cat({embedded(times, actions.scalar_type()), condition}, 1));
  Films films;
  for (const ResidualBlock* block : blocks()) films.push_back(block->film().forward(all));
  return denoised(actions, films);
}

std::vector<const ResidualBlock*> ConditionalUnet::blocks() const {
  std::vector<const ResidualBlock*> all;
  for (const Level& level : down_) all.insert(all.end(), {level.first.get(), level.second.get()});
  for (const auto& block : middle_) all.push_back(block.get());
  for (const Level& level : up_) all.insert(all.end(), {level.first.get(), level.second.get()});
  return all;
}

Denoised ConditionalUnet::denoised(const at::Tensor& actions, const Films& films) const {
  at::Tensor x = actions.transpose(1, 2);  // [B,A,T]
  auto film = films.begin();
  std::vector<at::Tensor> skips;
  for (const Level& level : down_) {
    x = level.first->forward(x, *film++);
    x = level.second->forward(x, *film++);
    skips.push_back(x);
    if (level.resample) x = level.resample->forward(x);
  }
  for (const auto& block : middle_) x = block->forward(x, *film++);
  const at::Tensor middle = x;
  for (const Level& level : up_) {
    x = at::cat({x, skips.back()}, 1);
    skips.pop_back();
    x = level.first->forward(x, *film++);
    x = level.resample->forward(level.second->forward(x, *film++));
  }
  return {final_->forward(final_block_->forward(x)).transpose(1, 2), middle};
}

}  // namespace fib::robots
