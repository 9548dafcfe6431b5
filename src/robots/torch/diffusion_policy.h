// SPDX-License-Identifier: Apache-2.0
// A policy that draws its next actions from a diffusion process, conditioned on what it sees (Chi et al.), with
// Crossway's second objective: its middle must also tell what was seen.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>
#include <vector>

#include "robots/diffusion.h"
#include "robots/policy.h"
#include "robots/torch/encoder.h"
#include "robots/torch/unet.h"

namespace fib::robots {

/// All on [−1, 1]. `observations` in the task's order, [B,observed,…]; `actions` [B,T,A].
struct Demonstrated {
  std::vector<at::Tensor> observations;
  at::Tensor actions;
};

struct PolicyLoss {
  at::Tensor noise, reconstruction;  ///< scalars; the second is the sum over observations
  at::Tensor total() const { return noise + 0.1 * reconstruction; }
};

class DiffusionPolicy : public torch::nn::Module {
 public:
  DiffusionPolicy(const Policy& policy, const AttentionSpec& attention);

  /// At random times with random noise, from torch's generator.
  PolicyLoss loss(const Demonstrated& batch);
  /// The same with noise [B,T,A] and times [B] that are given.
  PolicyLoss loss(const Demonstrated& batch, const at::Tensor& noise, const at::Tensor& times);

  /// Standard normal numbers [B,T,A], new ones at each call.
  using NoiseSource = std::function<at::Tensor()>;
  /// Actions [B,T,A] on [−1, 1] for observations [B,observed,…], by these steps.
  at::Tensor act(const std::vector<at::Tensor>& observations, const std::vector<DenoisingStep>& steps,
                 const NoiseSource& noise);

  const Policy& row() const { return policy_; }
  const NoiseSchedule& schedule() const { return schedule_; }
  ObservationEncoder& encoder() { return *encoder_; }
  const ConditionalUnet& unet() const { return *unet_; }
  /// What the U-Net is told of observations [B,observed,…]: [B,condition].
  at::Tensor condition(const std::vector<at::Tensor>& observations);

 private:
  Policy policy_;
  NoiseSchedule schedule_;
  std::shared_ptr<ObservationEncoder> encoder_;
  std::shared_ptr<ConditionalUnet> unet_;
};

/// One step back, see DenoisingStep; `fresh` may be undefined where the step takes none.
at::Tensor one_step_back(const DenoisingStep& step, const at::Tensor& sample, const at::Tensor& predicted,
                         const at::Tensor& fresh);

}  // namespace fib::robots
