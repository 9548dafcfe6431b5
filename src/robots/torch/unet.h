// SPDX-License-Identifier: Apache-2.0
// Crossway Diffusion's network: a U-Net over time that predicts the noise in a sequence of actions, given what was
// observed, and a decoder that rebuilds the observations from its middle, for training alone.
#pragma once

#include <torch/torch.h>

#include <vector>

#include "robots/policy.h"
#include "robots/torch/layers.h"

namespace fib::robots {

/// NumbersPart or images from the first time of the U-Net's middle, split into one share for each observed time.
class StateDecoder : public torch::nn::Module {
 public:
  StateDecoder(const RobotTask& task, const UnetSize& size);
  /// [B,C,T'] -> for each observation [B·observed, …], numbers or [channels,h,w].
  std::vector<at::Tensor> forward(const at::Tensor& middle) const;

 private:
  struct NumbersPart {
    std::shared_ptr<models::Linear> layers[3];
  };
  struct ImagePart {
    std::shared_ptr<ResidualBlock> first, second;
    std::shared_ptr<Convolution> upsample, last;
    std::shared_ptr<ConvolutionBlock> final_block;
  };
  void add_numbers(const Observation& observation, const UnetSize& size);
  void add_image(const Observation& observation, const UnetSize& size);
  at::Tensor rebuilt_numbers(const NumbersPart& part, const at::Tensor& share) const;
  at::Tensor rebuilt_image(const ImagePart& part, const at::Tensor& share, int64_t size) const;

  RobotTask task_;
  int64_t positions_;
  std::vector<NumbersPart> numbers_;  ///< in the order of the observations, as are the images
  std::vector<ImagePart> images_;
};

struct Denoised {
  at::Tensor noise;   ///< [B,T,A]
  at::Tensor middle;  ///< [B,C,T/4]
};

class ConditionalUnet : public torch::nn::Module {
 public:
  ConditionalUnet(const RobotTask& task, const UnetSize& size, int64_t condition);
  /// Noisy actions [B,T,A], their times [B] and conditions [B,condition].
  Denoised forward(const at::Tensor& actions, const at::Tensor& times, const at::Tensor& condition) const;

  // ---- In parts, for a sampler that computes once what does not change from step to step
  /// A film [B,2C] for each residual block, in the order in which they are used.
  using Films = std::vector<at::Tensor>;
  Denoised denoised(const at::Tensor& actions, const Films& films) const;
  std::vector<const ResidualBlock*> blocks() const;
  /// What a time becomes, [B,step_embedding]: the first numbers of a condition.
  at::Tensor embedded(const at::Tensor& times, at::ScalarType type) const;

  const StateDecoder& decoder() const { return *decoder_; }

 private:
  struct Level {
    std::shared_ptr<ResidualBlock> first, second;
    std::shared_ptr<Convolution> resample;
  };
  Level add_level(const std::string& path, const BlockShape& shape, const ConvolutionShape& resample);
  void add_middle(const BlockShape& shape);

  int64_t step_embedding_;
  std::shared_ptr<models::Linear> step_first_, step_second_;
  std::vector<Level> down_, up_;
  std::vector<std::shared_ptr<ResidualBlock>> middle_;
  std::shared_ptr<ConvolutionBlock> final_block_;
  std::shared_ptr<Convolution> final_;
  std::shared_ptr<StateDecoder> decoder_;
};

/// sin and cos of 2^i π times the place of row and column on [−1, 1]: [channels,h,w].
at::Tensor position_map(int64_t channels, int64_t height, int64_t width, const at::TensorOptions& options);

}  // namespace fib::robots
