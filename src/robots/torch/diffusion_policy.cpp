// SPDX-License-Identifier: Apache-2.0
#include "robots/torch/diffusion_policy.h"

#include <cmath>

namespace fib::robots {
namespace {

/// [B,observed,…] -> [B·observed,…]
std::vector<at::Tensor> each_time(const std::vector<at::Tensor>& observations) {
  std::vector<at::Tensor> all;
  all.reserve(observations.size());
  for (const at::Tensor& o : observations) all.push_back(o.flatten(0, 1));
  return all;
}

/// √ᾱ and √(1 − ᾱ) of the times, [B,1,1].
struct Mixture {
  at::Tensor signal, noise;
};

Mixture mixture(const NoiseSchedule& schedule, const at::Tensor& times, const at::TensorOptions& options) {
  const at::Tensor share = at::empty({times.size(0), 1, 1}, at::kDouble);
  for (int64_t i = 0; i < times.size(0); ++i)
    share.data_ptr<double>()[i] = schedule.alpha_bar(times.data_ptr<int64_t>()[i]);
  return {share.sqrt().to(options), (1 - share).sqrt().to(options)};
}

}  // namespace

at::Tensor one_step_back(const DenoisingStep& s, const at::Tensor& sample, const at::Tensor& predicted,
                         const at::Tensor& fresh) {
  const at::Tensor clean = ((sample - s.noise * predicted) / s.signal).clamp(-1, 1);
  const at::Tensor mean = s.clean * clean + s.sample * sample + s.predicted * predicted;
  return s.fresh > 0 ? mean + s.fresh * fresh : mean;
}

DiffusionPolicy::DiffusionPolicy(const Policy& policy, const AttentionSpec& attention) : policy_(policy) {
  encoder_ = register_module("encoder", std::make_shared<ObservationEncoder>(policy, attention));
  unet_ = register_module("unet", std::make_shared<ConditionalUnet>(policy.task, policy.unet, policy.condition()));
  initialize_like_torch(*unet_);
}

at::Tensor DiffusionPolicy::condition(const std::vector<at::Tensor>& observations) {
  const int64_t samples = observations.front().size(0);
  return encoder_->forward(each_time(observations)).reshape({samples, policy_.condition()});
}

PolicyLoss DiffusionPolicy::loss(const Demonstrated& batch) {
  const at::Tensor times = at::randint(schedule_.steps(), {batch.actions.size(0)}, at::kLong);
  return loss(batch, at::randn_like(batch.actions), times);
}

PolicyLoss DiffusionPolicy::loss(const Demonstrated& batch, const at::Tensor& noise, const at::Tensor& times) {
  const Mixture mix = mixture(schedule_, times, batch.actions.options());
  const at::Tensor noisy = mix.signal * batch.actions + mix.noise * noise;
  const Denoised denoised = unet_->forward(noisy, times, condition(batch.observations));
  const std::vector<at::Tensor> rebuilt = unet_->decoder().forward(denoised.middle),
                                seen = each_time(batch.observations);
  at::Tensor reconstruction = at::zeros({}, batch.actions.options());
  for (size_t i = 0; i < seen.size(); ++i) reconstruction = reconstruction + at::mse_loss(rebuilt[i], seen[i]);
  return {at::mse_loss(denoised.noise, noise), reconstruction};
}

at::Tensor DiffusionPolicy::act(const std::vector<at::Tensor>& observations, const std::vector<DenoisingStep>& steps,
                                const NoiseSource& noise) {
  const at::NoGradGuard no_grad;
  const at::Tensor seen = condition(observations);
  at::Tensor x = noise();
  for (const DenoisingStep& step : steps) {
    const at::Tensor times = at::full({seen.size(0)}, step.time, at::kLong);
    const at::Tensor predicted = unet_->forward(x, times, seen).noise;
    x = one_step_back(step, x, predicted, step.fresh > 0 ? noise() : at::Tensor());
  }
  return x;
}

}  // namespace fib::robots
