// SPDX-License-Identifier: Apache-2.0
// Convolutions over time and over images, as diffusion policies stack them; their names are those of the published
// weights. Parameters are made unset, like those of models/torch/layers.h.
//
// Letters: B samples, C channels, T times, A numbers of an action.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>

#include "models/torch/layers.h"
#include "ops/layers.h"

namespace fib::robots {

/// A square image whose first channels repeat a tile of 2 x 2 and whose last are the same for every sample.
struct TiledImage {
  static constexpr int64_t kTile = 2;
  at::Tensor tile;    ///< [B,C,kTile,kTile]
  at::Tensor common;  ///< [1,C',h,h]

  int64_t side() const { return common.size(2); }
  at::Tensor whole() const;  ///< [B,C+C',h,h]
};

/// Over time or over an image, forwards or transposed: one operator serves all.
struct ConvolutionShape {
  int64_t from = 0, to = 0, kernel = 1;
  int64_t dimensions = 1;  ///< 1: [B,C,T], 2: [B,C,h,w]
  int64_t stride = 1;
  int64_t padding = -1;  ///< half the kernel unless given
  bool transposed = false;
  bool bias = true;
};

class Convolution : public torch::nn::Module {
 public:
  explicit Convolution(const ConvolutionShape& shape);
  at::Tensor forward(const at::Tensor& x) const { return convolved(x, weight, bias); }
  /// Of stride 1. What repeats is convolved once, and what is common to the samples for one of them.
  at::Tensor forward(const TiledImage& x) const;

  at::Tensor weight, bias;

 private:
  at::Tensor convolved(const at::Tensor& x, const at::Tensor& with, const at::Tensor& shift) const;

  ConvolutionShape shape_;
  bool keeps_size_, doubles_size_;  ///< of an image, for which there are operators of our own
};

class GroupNorm : public torch::nn::Module {
 public:
  GroupNorm(int64_t groups, int64_t channels);
  at::Tensor forward(const at::Tensor& x) const { return at::group_norm(x, groups_, weight, bias, 1e-5); }

  at::Tensor weight, bias;

 private:
  int64_t groups_;
};

struct BlockShape {
  int64_t from = 0, to = 0;
  int64_t kernel = 5, groups = 8;
  int64_t dimensions = 1;
  int64_t condition = 0;  ///< numbers that scale and shift the channels (FiLM); 0: none
};

/// Convolution, group norm, Mish.
class ConvolutionBlock : public torch::nn::Module {
 public:
  explicit ConvolutionBlock(const BlockShape& shape);
  template <class Input>  // at::Tensor or TiledImage
  at::Tensor forward(const Input& x) const {
    return ops::mish(norm_->forward(convolution_->forward(x)));
  }

 private:
  std::shared_ptr<Convolution> convolution_;
  std::shared_ptr<GroupNorm> norm_;
};

/// Two of them around a residual; between them each channel is scaled and shifted by what the condition says.
class ResidualBlock : public torch::nn::Module {
 public:
  explicit ResidualBlock(const BlockShape& shape);
  /// `film` [B,2C]: what each channel is scaled by, then shifted; undefined where the shape has no condition.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& film) const;
  /// What makes the film of a condition behind Mish [B,condition].
  const models::Linear& film() const { return *film_; }
  at::Tensor forward(const TiledImage& x) const;

 private:
  std::shared_ptr<ConvolutionBlock> first_, second_;
  std::shared_ptr<models::Linear> film_;
  std::shared_ptr<Convolution> residual_;  ///< where the number of channels changes
};

/// As torch initializes linear maps and convolutions: uniform up to 1/√fan_in, biases too; norms 1 and 0.
void initialize_like_torch(torch::nn::Module& module);

}  // namespace fib::robots
