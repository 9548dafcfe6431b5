// SPDX-License-Identifier: Apache-2.0
#include "robots/play/compiled_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "robots/diffusion.h"

namespace fib::robots {
namespace {

engine::PolicyInterface interface_in(const engine::FibContent& content, const std::string& file) {
  const auto refuse = [&](const std::string& why) {
    return std::runtime_error(fmt::format("cannot play '{}': {}", file, why));
  };
  try {
    const auto found = engine::policy_of(content);
    if (found) return *found;
  } catch (const std::exception& error) {
    throw refuse(error.what());
  }
  throw refuse("it is no policy; fib compile --run RUN makes one of a run that learned a robot's task");
}

const std::string& told(const engine::FibContent& content, const char* key) {
  static const std::string kNothing;
  const auto found = content.card.find(key);
  return found == content.card.end() ? kNothing : found->second;
}

/// The numbers or pixels of one observation at one time.
float* append(const ObservedValue& value, const Observation& o, float* to) {
  if (!o.is_image()) return std::ranges::copy(value.numbers, to).out;
  std::vector<uint8_t> reduced(static_cast<size_t>(3 * o.image_size * o.image_size));
  reduce_image(value.image, o.image_size, reduced.data());
  return std::ranges::copy(reduced, to).out;
}

}  // namespace

engine::PolicyInterface interface_of(const Policy& row, const std::string& task, const std::string& sampler) {
  engine::PolicyInterface p{.task = task, .sampler = sampler, .observations = {}};
  for (const Observation& o : row.task.observations) {
    std::vector<int64_t> shape{row.task.observed, o.channels};
    if (o.is_image()) shape.insert(shape.end(), {o.image_size, o.image_size});
    p.observations.push_back({o.name, shape});
  }
  const auto steps = sampler_steps(sampler, NoiseSchedule());
  p.rounds = 1 + std::ranges::count_if(steps, [](const DenoisingStep& s) { return s.fresh > 0; });
  p.horizon = row.unet.horizon, p.actions = row.task.executed, p.numbers = row.task.action;
  return p;
}

CompiledPolicy::CompiledPolicy(const std::filesystem::path& file, const engine::Limits& limits)
    : engine_(file, limits), interface_(interface_in(engine_.content(), file.string())) {
  try {
    row_ = &find_policy(told(engine_.content(), "model"));
    if (robot().policy_task != row_->task.name || interface_ != interface_of(*row_, interface_.task, sampler()))
      throw std::runtime_error(fmt::format("what it sees and does is not that of {}", row_->name));
  } catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("cannot play '{}': {}", file.string(), error.what()));
  }
  sample_.resize(static_cast<size_t>(interface_.observed_values() + interface_.noise_values()));
  actions_.resize(static_cast<size_t>(interface_.action_values()));
}

std::vector<std::vector<double>> CompiledPolicy::decide(const std::vector<Seen>& seen,
                                                        const std::vector<CounterRng*>& streams) {
  std::vector<std::vector<double>> all;
  const auto noise = std::span(sample_).last(static_cast<size_t>(interface_.noise_values()));
  for (size_t b = 0; b < seen.size(); ++b) {
    float* to = sample_.data();
    for (size_t o = 0; o < row_->task.observations.size(); ++o)
      for (const auto& moment : seen[b]) to = append(moment[o], row_->task.observations[o], to);
    engine::draw_noise(*streams[b], noise);
    engine_.run(engine_.content().programs.front(), sample_, actions_);
    all.emplace_back(actions_.begin(), actions_.end());
  }
  return all;
}

std::string CompiledPolicy::description() const {
  return fmt::format("{} with {}", row_->name, told(engine_.content(), "attention"));
}

}  // namespace fib::robots
