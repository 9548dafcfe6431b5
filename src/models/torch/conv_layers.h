// SPDX-License-Identifier: Apache-2.0
// Convolutions with batch norms, for backbones that have them. Without gradients, and not in training, a norm becomes
// part of its convolution: one pass over the image instead of two.
//
// Letters: B samples, C channels, h, w rows and columns, N = h·w tokens.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <optional>
#include <string>

#include "attention/geometry.h"

namespace fib::models {

class BatchNorm : public torch::nn::Module {
 public:
  explicit BatchNorm(int64_t channels);
  /// Channels are dimension 1.
  at::Tensor forward(const at::Tensor& x);
  /// What the norm multiplies a channel by once its statistics are fixed.
  at::Tensor factor() const;

  at::Tensor weight, bias, running_mean, running_var, num_batches_tracked;
};

struct ConvConfig {
  int64_t from = 0;
  int64_t to = 0;
  int64_t kernel = 1;
  int64_t stride = 1;
  bool depthwise = false;
  bool bias = false;
  std::optional<int64_t> padding = std::nullopt;  ///< half the kernel unless given: then the stride alone shrinks
};

class Conv : public torch::nn::Module {
 public:
  explicit Conv(const ConvConfig& config);
  at::Tensor forward(const at::Tensor& x) const { return forward(x, weight, bias); }
  /// With other values at the place of its parameters.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& other_weight, const at::Tensor& other_bias) const;

  at::Tensor weight, bias;

 private:
  ConvConfig config_;
};

/// A convolution without bias, then a batch norm. `conv_name` is what the convolution is called in the state dict.
class ConvNorm : public torch::nn::Module {
 public:
  explicit ConvNorm(const ConvConfig& config, const char* conv_name = "c");
  /// [B,C,h,w] -> [B,C',h',w']
  at::Tensor forward(const at::Tensor& x);
  /// [B,N,C] -> [B,N,C'], for kernels of one pixel: a linear map of tokens.
  at::Tensor forward_tokens(const at::Tensor& x);

 private:
  struct Folded {
    at::Tensor weight, bias;
  };
  bool foldable() const { return !is_training() && !at::GradMode::is_enabled(); }
  Folded folded() const;

  std::shared_ptr<Conv> conv_;
  std::shared_ptr<BatchNorm> norm_;
};

/// Registers `part` as root.a.b.c for the path "a.b.c"; what is missing on the way is made of empty modules.
void register_at(torch::nn::Module& root, const std::string& path, std::shared_ptr<torch::nn::Module> part);

/// [B,C,h,w] -> [B,N,C]
inline at::Tensor to_tokens(const at::Tensor& image) { return image.flatten(2).transpose(1, 2); }
/// [B,N,C] -> [B,C,h,w]
inline at::Tensor to_image(const at::Tensor& tokens, const attention::Grid& grid) {
  return tokens.transpose(1, 2).reshape({tokens.size(0), tokens.size(2), grid.height, grid.width});
}

enum class KernelStart { normal, uniform };

/// Linear maps N(0, 0.02) with biases 0, norms 1 and 0; convolutions like linear maps, or as torch does it, uniform up
/// to 1/√fan_in with their biases.
void initialize_convolutional(torch::nn::Module& module, KernelStart kernels);

}  // namespace fib::models
