// SPDX-License-Identifier: Apache-2.0
// The numbers of a denoising diffusion process that predicts noise: how much of signal and noise a sample holds at each
// time, and what of what makes the sample one step earlier. Which tensors they multiply is told in torch/.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace fib::robots {

/// Nichol and Dhariwal's cosine schedule: ᾱ(s) = cos²((s + 0.008) / 1.008 · π/2), β capped at 0.999.
class NoiseSchedule {
 public:
  explicit NoiseSchedule(int64_t steps = 100);

  int64_t steps() const { return static_cast<int64_t>(beta_.size()); }
  double beta(int64_t t) const { return beta_[static_cast<size_t>(t)]; }
  /// The product of 1 − β up to t; 1 before the first step.
  double alpha_bar(int64_t t) const { return t < 0 ? 1 : alpha_bar_[static_cast<size_t>(t)]; }

 private:
  std::vector<double> beta_, alpha_bar_;
};

/// One step back from time t. With ε the predicted and z fresh normal noise:
///   x̂₀     = clamp((x_t − noise · ε) / signal, −1, 1)
///   x_prev = clean · x̂₀ + sample · x_t + predicted · ε + fresh · z
struct DenoisingStep {
  int64_t time = 0;
  double signal = 1, noise = 0;
  double clean = 0, sample = 0, predicted = 0, fresh = 0;
};

/// All steps of the schedule, latest time first: the posterior's mean and its variance.
std::vector<DenoisingStep> ddpm_steps(const NoiseSchedule& schedule);
/// `count` of them evenly spaced, without fresh noise (Song et al., η = 0).
std::vector<DenoisingStep> ddim_steps(const NoiseSchedule& schedule, int64_t count);
/// "ddpm" or "ddim:K"; throws std::invalid_argument for anything else.
std::vector<DenoisingStep> sampler_steps(std::string_view sampler, const NoiseSchedule& schedule);

}  // namespace fib::robots
