// SPDX-License-Identifier: Apache-2.0
#include "robots/torch/layers.h"

#include <cmath>

#include "models/torch/conv_layers.h"
#include "ops/layers.h"

namespace fib::robots {

using models::register_at;

namespace {

at::Tensor repeated(const at::Tensor& tile, int64_t side) {
  const int64_t times = (side + TiledImage::kTile - 1) / TiledImage::kTile;
  return tile.repeat({1, 1, times, times}).narrow(2, 0, side).narrow(3, 0, side);
}

/// The side of the smallest image that has every border and every place of a tile that a longer side has.
int64_t sufficient_side(int64_t side, int64_t border) {
  return std::min(side, 2 * border + TiledImage::kTile + side % TiledImage::kTile);
}

/// For each row of an image of `side` the row of the sufficient one that looks the same.
at::Tensor alike_rows(int64_t side, int64_t border) {
  const int64_t small = sufficient_side(side, border);
  const at::Tensor rows = at::empty({side}, at::kLong);
  int64_t* row = rows.data_ptr<int64_t>();
  for (int64_t r = 0; r < side; ++r) {
    const int64_t from_end = side - r;
    row[r] = r < border ? r : from_end <= border ? small - from_end : border + (r - border) % TiledImage::kTile;
  }
  return rows;
}

}  // namespace

at::Tensor TiledImage::whole() const {
  return at::cat({repeated(tile, side()), common.expand({tile.size(0), -1, -1, -1})}, 1);
}

Convolution::Convolution(const ConvolutionShape& shape) : shape_(shape) {
  if (shape_.padding < 0) shape_.padding = shape.kernel / 2;
  const bool image = shape.dimensions == 2, half = shape.kernel % 2 == 1 && shape_.padding == shape.kernel / 2;
  keeps_size_ = image && !shape.transposed && shape.stride == 1 && half;
  doubles_size_ = image && shape.transposed && shape.stride == 2 && shape.kernel == 4 && shape_.padding == 1;
  std::vector<int64_t> sizes = {shape.to, shape.from};
  if (shape.transposed) std::swap(sizes[0], sizes[1]);
  sizes.insert(sizes.end(), static_cast<size_t>(shape.dimensions), shape.kernel);
  weight = register_parameter("weight", at::empty(sizes));
  if (shape.bias) bias = register_parameter("bias", at::empty({shape.to}));
}

at::Tensor Convolution::convolved(const at::Tensor& x, const at::Tensor& with, const at::Tensor& shift) const {
  if (keeps_size_) return ops::convolution(x, with, shift);
  if (doubles_size_) return ops::doubling_convolution(x, with, shift);
  const auto all = [&](int64_t value) { return std::vector<int64_t>(static_cast<size_t>(shape_.dimensions), value); };
  return at::convolution(x, with, shift, all(shape_.stride), all(shape_.padding), all(1), shape_.transposed, all(0), 1);
}

at::Tensor Convolution::forward(const TiledImage& x) const {
  const int64_t border = shape_.padding, tiled = x.tile.size(1);
  const at::Tensor small = repeated(x.tile, sufficient_side(x.side(), border)), rows = alike_rows(x.side(), border);
  const at::Tensor of_tiles = convolved(small, weight.narrow(1, 0, tiled), {});
  const at::Tensor of_common = convolved(x.common, weight.narrow(1, tiled, x.common.size(1)), bias);
  return of_tiles.index_select(2, rows).index_select(3, rows) + of_common;
}

GroupNorm::GroupNorm(int64_t groups, int64_t channels) : groups_(groups) {
  weight = register_parameter("weight", at::empty({channels}));
  bias = register_parameter("bias", at::empty({channels}));
}

ConvolutionBlock::ConvolutionBlock(const BlockShape& shape)
    : convolution_(
          std::make_shared<Convolution>(ConvolutionShape{shape.from, shape.to, shape.kernel, shape.dimensions})),
      norm_(std::make_shared<GroupNorm>(shape.groups, shape.to)) {
  register_at(*this, "block.0", convolution_);
  register_at(*this, "block.1", norm_);
}

ResidualBlock::ResidualBlock(const BlockShape& shape) {
  BlockShape second = shape;
  second.from = shape.to;
  first_ = std::make_shared<ConvolutionBlock>(shape);
  second_ = std::make_shared<ConvolutionBlock>(second);
  register_at(*this, "blocks.0", first_);
  register_at(*this, "blocks.1", second_);
  if (shape.condition > 0) {
    film_ = std::make_shared<models::Linear>(shape.condition, 2 * shape.to);
    register_at(*this, "cond_encoder.1", film_);
  }
  if (shape.from == shape.to) return;
  residual_ = std::make_shared<Convolution>(ConvolutionShape{shape.from, shape.to, 1, shape.dimensions});
  register_module("residual_conv", residual_);
}

at::Tensor ResidualBlock::forward(const at::Tensor& x, const at::Tensor& film) const {
  at::Tensor y = first_->forward(x);
  if (film.defined()) {
    const auto parts = film.unsqueeze(-1).chunk(2, 1);  // scale, shift: [B,C,1]
    y = parts[0] * y + parts[1];
  }
  return second_->forward(y) + (residual_ ? residual_->forward(x) : x);
}

at::Tensor ResidualBlock::forward(const TiledImage& x) const {
  return second_->forward(first_->forward(x)) + (residual_ ? residual_->forward(x) : x.whole());
}

void initialize_like_torch(torch::nn::Module& module) {
  const at::NoGradGuard no_grad;
  for (const auto& part : module.modules()) {
    const auto parameters = part->named_parameters(false);
    const at::Tensor* weight = parameters.find("weight");
    const at::Tensor* bias = parameters.find("bias");
    if (weight == nullptr) continue;
    if (weight->dim() < 2) {
      weight->fill_(1);
      if (bias != nullptr) bias->zero_();
      continue;
    }
    const int64_t inputs = weight->numel() / weight->size(0);
    const double bound = 1 / std::sqrt(static_cast<double>(inputs));
    weight->uniform_(-bound, bound);
    if (bias != nullptr) bias->uniform_(-bound, bound);
  }
}

}  // namespace fib::robots
