// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <optional>
#include <vector>

#include "engine/engine.h"
#include "engine/policy.h"
#include "fibottention/engine.h"
#include "kernels/c_guard.h"

struct fib_engine {
  explicit fib_engine(const char* file, const fib::engine::Limits& limits = {})
      : engine(file, limits), policy(fib::engine::policy_of(engine.content())) {}

  fib::engine::Engine engine;
  std::optional<fib::engine::PolicyInterface> policy;
};

namespace {

using fib::kernels::guarded;

void require_pointers(bool all) {
  if (!all) throw std::invalid_argument("a pointer that must not be null is null");
}

void check_arrays(const float* samples, int64_t values, const float* logits, int64_t results) {
  const auto from = reinterpret_cast<uintptr_t>(samples), to = reinterpret_cast<uintptr_t>(logits);
  if (from % alignof(float) != 0 || to % alignof(float) != 0)
    throw std::invalid_argument("samples and logits must be aligned to 4 bytes");
  if (from < to + static_cast<uintptr_t>(results) * sizeof(float) &&
      to < from + static_cast<uintptr_t>(values) * sizeof(float))
    throw std::invalid_argument("samples and logits must not overlap");
}

const fib::engine::PolicyInterface& policy_in(const fib_engine& engine) {
  if (!engine.policy) throw std::invalid_argument("the file is no policy");
  return *engine.policy;
}

}  // namespace

fib_status fib_engine_load(const char* file, fib_engine** engine) {
  return guarded([&] {
    require_pointers(file != nullptr && engine != nullptr);
    *engine = new fib_engine(file);
  });
}

fib_status fib_engine_load_within(const char* file, int64_t max_memory, int64_t max_work, fib_engine** engine) {
  return guarded([&] {
    require_pointers(file != nullptr && engine != nullptr);
    *engine = new fib_engine(file, {max_memory, max_work});
  });
}

fib_status fib_engine_requirements(const fib_engine* engine, int64_t* memory, int64_t* work) {
  return guarded([&] {
    require_pointers(engine != nullptr && memory != nullptr && work != nullptr);
    const fib::engine::Requirements needed = fib::engine::requirements(engine->engine.content().programs);
    *memory = needed.memory, *work = needed.work;
  });
}

void fib_engine_free(fib_engine* engine) { delete engine; }

fib_status fib_engine_describe(const fib_engine* engine, fib_engine_info* info) {
  return guarded([&] {
    require_pointers(engine != nullptr && info != nullptr);
    const fib::engine::FibContent& content = engine->engine.content();
    const fib::engine::Program& program = content.programs.front();
    *info = {program.channels(), program.frames(), program.height(),
             program.width(),    program.classes,  content.most_samples};
  });
}

const char* fib_engine_metadata(const fib_engine* engine, const char* key) {
  const char* text = nullptr;
  guarded([&] {
    require_pointers(engine != nullptr && key != nullptr);
    const auto& card = engine->engine.content().card;
    const auto found = card.find(key);
    if (found != card.end()) text = found->second.c_str();
  });
  return text;
}

fib_status fib_engine_step(fib_engine* engine, const int32_t* tokens, int64_t count, float* logits) {
  return guarded([&] {
    require_pointers(engine != nullptr && tokens != nullptr && logits != nullptr);
    if (count < 1) throw std::invalid_argument(fmt::format("{} tokens, accepted are 1 or more", count));
    if (reinterpret_cast<uintptr_t>(tokens) % alignof(int32_t) != 0 ||
        reinterpret_cast<uintptr_t>(logits) % alignof(float) != 0)
      throw std::invalid_argument("tokens and logits must be aligned to 4 bytes");
    engine->engine.step({tokens, static_cast<size_t>(count)},
                        {logits, static_cast<size_t>(engine->engine.content().programs.front().classes)});
  });
}

fib_status fib_engine_restart(fib_engine* engine) {
  return guarded([&] {
    require_pointers(engine != nullptr);
    engine->engine.restart();
  });
}

fib_status fib_engine_position(const fib_engine* engine, int64_t* position) {
  return guarded([&] {
    require_pointers(engine != nullptr && position != nullptr);
    *position = engine->engine.position();
  });
}

fib_status fib_engine_run(fib_engine* engine, const float* samples, int64_t count, int64_t height, int64_t width,
                          float* logits) {
  return guarded([&] {
    require_pointers(engine != nullptr && samples != nullptr && logits != nullptr);
    const fib::engine::Program& program = engine->engine.program(height, width);
    const int64_t most = engine->engine.content().most_samples;
    if (count < 1 || count > most)
      throw std::invalid_argument(fmt::format("{} samples, accepted are 1 to {}", count, most));
    check_arrays(samples, count * program.sample_elements(), logits, count * program.classes);
    engine->engine.run(program, {samples, static_cast<size_t>(count * program.sample_elements())},
                       {logits, static_cast<size_t>(count * program.classes)});
  });
}

fib_status fib_policy_describe(const fib_engine* engine, fib_policy_info* info) {
  return guarded([&] {
    require_pointers(engine != nullptr && info != nullptr);
    const fib::engine::PolicyInterface& p = policy_in(*engine);
    *info = {p.observed_values(), p.noise_values(), p.actions, p.numbers};
  });
}

fib_status fib_policy_noise(const fib_engine* engine, uint32_t seed, int64_t decision, float* noise) {
  return guarded([&] {
    constexpr int64_t kMostDecisions = 1'000'000;
    require_pointers(engine != nullptr && noise != nullptr);
    if (decision < 0 || decision >= kMostDecisions)
      throw std::invalid_argument(fmt::format("decision {}, accepted are 0 to {}", decision, kMostDecisions - 1));
    const auto count = static_cast<size_t>(policy_in(*engine).noise_values());
    fib::CounterRng stream = fib::engine::action_noise(seed);
    for (int64_t i = 0; i <= decision; ++i) fib::engine::draw_noise(stream, {noise, count});
  });
}

fib_status fib_policy_decide(fib_engine* engine, const float* observations, const float* noise, float* actions) {
  return guarded([&] {
    require_pointers(engine != nullptr && observations != nullptr && noise != nullptr && actions != nullptr);
    const fib::engine::PolicyInterface& p = policy_in(*engine);
    check_arrays(observations, p.observed_values(), actions, p.action_values());
    check_arrays(noise, p.noise_values(), actions, p.action_values());
    std::vector<float> sample(observations, observations + p.observed_values());
    sample.insert(sample.end(), noise, noise + p.noise_values());
    engine->engine.run(engine->engine.content().programs.front(), sample,
                       {actions, static_cast<size_t>(p.action_values())});
  });
}
