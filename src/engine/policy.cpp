// SPDX-License-Identifier: Apache-2.0
#include "engine/policy.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/checked.h"
#include "base/json.h"

namespace fib::engine {
namespace {

using nlohmann::json;

constexpr const char* kKey = "policy";
/// Keeps the noise of actions apart from other uses of an episode's seed.
constexpr uint64_t kActionNoise = 0x61637473;

int64_t count_of(const json& number, const char* what) {
  constexpr int64_t kMost = int64_t{1} << 28;
  if (!number.is_number_integer() || number.get<double>() < 1 || number.get<double>() > kMost)
    throw std::runtime_error(fmt::format("{} must be an integer from 1 to {}", what, kMost));
  return number.get<int64_t>();
}

PolicyInterface::Observation observation_of(const json& told) {
  PolicyInterface::Observation o{told.at("name").get<std::string>(), {}};
  const json& shape = told.at("shape");
  if (!shape.is_array() || (shape.size() != 2 && shape.size() != 4))
    throw std::runtime_error("an observation's shape must be [times, numbers] or [times, 3, side, side]");
  for (const json& side : shape) o.shape.push_back(count_of(side, "shape"));
  return o;
}

PolicyInterface interface_of(const std::string& text) {
  const auto told = parse_json<json>(text);
  PolicyInterface p;
  p.task = told.at("task").get<std::string>(), p.sampler = told.at("sampler").get<std::string>();
  const json& observations = told.at("observations");
  constexpr size_t kMostObservations = 64;
  if (!observations.is_array() || observations.empty() || observations.size() > kMostObservations)
    throw std::runtime_error(fmt::format("observations must be a list of 1 to {}", kMostObservations));
  for (const json& o : observations) p.observations.push_back(observation_of(o));
  const json &noise = told.at("noise"), &actions = told.at("actions");
  if (!noise.is_array() || noise.size() != 3 || !actions.is_array() || actions.size() != 2)
    throw std::runtime_error("noise must be [rounds, horizon, numbers] and actions [actions, numbers]");
  p.rounds = count_of(noise[0], "noise"), p.horizon = count_of(noise[1], "noise");
  p.actions = count_of(actions[0], "actions"), p.numbers = count_of(actions[1], "actions");
  if (count_of(noise[2], "noise") != p.numbers) throw std::runtime_error("noise and actions have different numbers");
  return p;
}

}  // namespace

int64_t PolicyInterface::observed_values() const {
  Checked sum = 0;
  for (const Observation& o : observations) sum += checked_product(o.shape);
  return sum.value();
}

int64_t PolicyInterface::noise_values() const { return (Checked(rounds) * horizon * numbers).value(); }

void PolicyInterface::add_to(TensorMetadata& card) const {
  json told{{"task", task},
            {"sampler", sampler},
            {"noise", {rounds, horizon, numbers}},
            {"actions", {actions, numbers}},
            {"observations", json::array()}};
  for (const Observation& o : observations) told["observations"].push_back({{"name", o.name}, {"shape", o.shape}});
  card[kKey] = told.dump();
}

std::optional<PolicyInterface> policy_of(const FibContent& content) {
  const auto told = content.card.find(kKey);
  if (told == content.card.end()) return std::nullopt;
  try {
    PolicyInterface p = interface_of(told->second);
    const Program& program = content.programs.front();
    const int64_t values = (Checked(p.observed_values()) + p.noise_values()).value();
    const int64_t results = (Checked(p.actions) * p.numbers).value();
    if (content.programs.size() != 1 || !program.takes_numbers() || program.sample_elements() != values ||
        program.classes != results)
      throw std::runtime_error(fmt::format("{} values in and {} out, its steps take {} and give {}", values, results,
                                           program.sample_elements(), program.classes));
    return p;
  } catch (const json::exception&) {
    throw std::runtime_error("its metadata does not say what the policy sees and does");
  } catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("what it says of the policy cannot be: {}", error.what()));
  }
}

CounterRng action_noise(uint32_t seed) { return CounterRng(seed, {kActionNoise}); }

void draw_noise(CounterRng& stream, std::span<float> noise) {
  for (float& z : noise) z = static_cast<float>(standard_normal(stream));
}

}  // namespace fib::engine
