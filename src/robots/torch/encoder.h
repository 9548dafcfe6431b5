// SPDX-License-Identifier: Apache-2.0
// What a policy makes of what it sees: a feature vector of each camera's image, and the other numbers as they are.
//
// Letters: N images, C channels, F features.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <vector>

#include "fibottention/pattern.h"
#include "models/torch/model.h"
#include "robots/policy.h"
#include "robots/torch/layers.h"

namespace fib::robots {

/// An image to features: [N,3,crop,crop] -> [N,F].
class ImageEncoder : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& images) = 0;
};

/// The mean of a ViT's patch tokens. Pixels beyond the last whole patch are not seen.
class VitEncoder final : public ImageEncoder {
 public:
  VitEncoder(const EncoderSize& size, int64_t crop, const AttentionSpec& attention);
  at::Tensor forward(const at::Tensor& images) override;
  models::Model& model() { return *model_; }
  /// What the model is given of images of `crop` pixels.
  at::Tensor seen(const at::Tensor& images) const;

 private:
  int64_t side_;
  bool standardizes_;
  models::ModelPtr model_;
};

/// ResNet-18 with group norms, then where on the image each of 32 maps is active.
class ResNetEncoder final : public ImageEncoder {
 public:
  explicit ResNetEncoder(const EncoderSize& size);
  at::Tensor forward(const at::Tensor& images) override;

 private:
  class BasicBlock;
  std::shared_ptr<Convolution> stem_, keypoints_;
  std::shared_ptr<GroupNorm> stem_norm_;
  std::vector<std::shared_ptr<BasicBlock>> blocks_;
  std::shared_ptr<models::Linear> last_;
};

/// The mean place of each map's softmax, x and y on [−1, 1]: [N,C,h,w] -> [N,2C].
at::Tensor spatial_softmax(const at::Tensor& maps);

/// All observations of a task.
class ObservationEncoder : public torch::nn::Module {
 public:
  ObservationEncoder(const Policy& policy, const AttentionSpec& attention);
  /// In the task's order, [N,numbers] or [N,3,h,w] on [−1, 1]; to [N,F]. Images are cropped: at random in training,
  /// else the middle.
  at::Tensor forward(const std::vector<at::Tensor>& observations);
  const std::vector<std::shared_ptr<ImageEncoder>>& cameras() const { return cameras_; }

 private:
  at::Tensor cropped(const at::Tensor& images, int64_t crop) const;

  RobotTask task_;
  std::vector<std::shared_ptr<ImageEncoder>> cameras_;
};

}  // namespace fib::robots
