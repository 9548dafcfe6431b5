// SPDX-License-Identifier: Apache-2.0
// A policy as a graph: its sample is the observations of a decision, one behind the other, then the noise.
//
// Letters: B samples, T times of the horizon, A numbers of an action, K steps of the sampler, S numbers of all films.
#include "engine/torch/record.h"
#include "robots/play/compiled_policy.h"
#include "robots/torch/rollout.h"

namespace fib::robots {
namespace {

/// The sample's values, taken from the front.
class SampleReader {
 public:
  explicit SampleReader(const at::Tensor& sample) : sample_(sample) {}
  /// The next ones, in this shape.
  at::Tensor take(const std::vector<int64_t>& shape) {
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    std::vector<int64_t> sizes{sample_.size(0)};
    sizes.insert(sizes.end(), shape.begin(), shape.end());
    const at::Tensor part = sample_.narrow(1, begin_, count).view(sizes);
    begin_ += count;
    return part;
  }

 private:
  const at::Tensor& sample_;
  int64_t begin_ = 0;
};

at::Tensor numbers_of(std::span<const double> values) {
  return at::tensor(std::vector<double>(values.begin(), values.end()), at::kDouble);
}

/// Observations and noise are those of the world; here they become the network's, and its actions the world's again.
at::Tensor normalized(const at::Tensor& values, const Observation& o, const RobotNormalizer& normalizer) {
  if (o.is_image()) return values / 127.5 - 1;
  const Normalizer& limits = normalizer.observed.at(o.name);
  return values * numbers_of(limits.scale()).to(at::kFloat) + numbers_of(limits.offset()).to(at::kFloat);
}

at::Tensor restored(const at::Tensor& actions, const Normalizer& limits) {
  const at::Tensor scale = numbers_of(limits.scale()), offset = numbers_of(limits.offset());
  return actions * scale.reciprocal().to(at::kFloat) - (offset / scale).to(at::kFloat);
}

/// The films of all residual blocks side by side: what the condition adds to them, and what each step's time does.
struct FilmTables {
  std::vector<int64_t> widths;  ///< of each block's film
  at::Tensor of_condition;      ///< [B,S]
  at::Tensor of_time;           ///< [K,S], with the bias
};

FilmTables film_tables(const ConditionalUnet& unet, const at::Tensor& condition,
                       const std::vector<DenoisingStep>& steps) {
  FilmTables tables;
  std::vector<at::Tensor> weights, biases;
  for (const ResidualBlock* block : unet.blocks()) {
    weights.push_back(block->film().weight), biases.push_back(block->film().bias);
    tables.widths.push_back(biases.back().size(0));
  }
  std::vector<int64_t> times;
  for (const DenoisingStep& s : steps) times.push_back(s.time);
  const at::Tensor embedded = at::mish(unet.embedded(at::tensor(times, at::kLong), at::kFloat));
  const at::Tensor weight = at::cat(weights), of_time = weight.narrow(1, 0, embedded.size(1)),
                   of_condition = weight.narrow(1, embedded.size(1), condition.size(1));
  tables.of_time = at::linear(embedded, of_time, at::cat(biases));
  tables.of_condition = at::linear(at::mish(condition), of_condition.contiguous());
  return tables;
}

/// [K,6], as Op::denoise takes them.
at::Tensor coefficients_of(const std::vector<DenoisingStep>& steps) {
  std::vector<double> numbers;
  for (const DenoisingStep& s : steps)
    numbers.insert(numbers.end(), {s.signal, s.noise, s.clean, s.sample, s.predicted, s.fresh});
  return at::tensor(numbers, at::kDouble).to(at::kFloat).view({-1, 6});
}

/// The sampler: noise [B,rounds,T,A] to what remains of it, [B,T,A].
at::Tensor sampled(DiffusionPolicy& policy, const at::Tensor& condition, const at::Tensor& noise,
                   const std::vector<DenoisingStep>& steps, engine::Recording& recording) {
  const FilmTables films = film_tables(policy.unet(), condition, steps);
  std::vector<at::Tensor> tables{films.of_time, coefficients_of(steps)};
  // Behind the first noise, step i draws round i + 1; the last draws none, and would multiply it by 0.
  if (noise.size(1) > 1) tables.push_back(noise.roll(-1, 1));
  return recording.repeat(static_cast<int64_t>(steps.size()), noise.select(1, 0), tables,
                          [&](const at::Tensor& x, const std::vector<at::Tensor>& rows) {
                            const at::Tensor film = films.of_condition + rows[0];
                            const auto parts = film.split_with_sizes(films.widths, 1);
                            const at::Tensor predicted = policy.unet().denoised(x, parts).noise;
                            return recording.denoise(x, predicted, rows[1], rows.size() > 2 ? rows[2] : at::Tensor());
                          });
}

}  // namespace

engine::Graph record_policy(const TrainedPolicy& trained, const std::string& sampler) {
  DiffusionPolicy& policy = *trained.policy;
  const RobotTask& task = policy.row().task;
  const std::vector<DenoisingStep> steps = sampler_steps(sampler, policy.schedule());
  const engine::PolicyInterface takes = interface_of(policy.row(), trained.robot().name, sampler);
  return engine::record(
      policy, {takes.observed_values() + takes.noise_values()},
      [&](const at::Tensor& sample, engine::Recording& recording) {
        SampleReader reader(sample);
        std::vector<at::Tensor> observations;
        for (size_t i = 0; i < task.observations.size(); ++i)
          observations.push_back(
              normalized(reader.take(takes.observations[i].shape), task.observations[i], trained.normalizer));
        const at::Tensor noise = reader.take({takes.rounds, takes.horizon, takes.numbers});
        const at::Tensor drawn = sampled(policy, policy.condition(observations), noise, steps, recording);
        return restored(drawn.narrow(1, task.observed - 1, task.executed), trained.normalizer.action).flatten(1);
      });
}

}  // namespace fib::robots
