// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <stdexcept>

#include "base/measure.h"
#include "base/parallel.h"
#include "base/system.h"

namespace fib::engine {
namespace {

/// Room for the largest program, on huge pages where the system has them to give; null where none is needed.
std::byte* make_room(const FibContent& content, int64_t Program::*elements) {
  int64_t most = 0;
  for (const Program& p : content.programs) most = std::max(most, p.*elements);
  if (most == 0) return nullptr;
  constexpr size_t kHugePage = size_t{2} << 20;
  const size_t bytes = (static_cast<size_t>(most) * sizeof(float) + kHugePage) / kHugePage * kHugePage;
  void* memory = allocate_aligned(kHugePage, bytes);
  madvise(memory, bytes, MADV_HUGEPAGE);
  return static_cast<std::byte*>(memory);
}

/// Of the places of embeddings, the fewest.
int64_t positions_of(const FibContent& content) {
  int64_t most = std::numeric_limits<int64_t>::max();
  for (const Program& p : content.programs) {
    for (const Step& s : p.steps) {
      if (s.kind == StepKind::embedding && s.has(Role::residual)) most = std::min(most, s.at(Role::residual).sizes[0]);
    }
  }
  return most;
}

}  // namespace

Engine::Engine(const std::filesystem::path& file, const Limits& limits)
    : file_(file),
      content_(read_fib_metadata(file_.metadata(), file_.tensors(), file.string())),
      arena_(nullptr, std::free),
      state_(nullptr, std::free),
      most_positions_(positions_of(content_)) {
  const auto refuse = [&](const std::exception& error) {
    throw std::runtime_error(fmt::format("cannot run '{}': {}", file.string(), error.what()));
  };
  try {
    check_limits(requirements(content_.programs), limits);
  } catch (const std::exception& error) {
    refuse(error);
  }
  arena_.reset(make_room(content_, &Program::arena_elements));
  state_.reset(make_room(content_, &Program::state_elements));
  restart();
  try {
    for (const Program& p : content_.programs) bound_.push_back(bind(p));
  } catch (const std::invalid_argument& error) {
    refuse(error);
  }
}

Engine::Bound Engine::bind(const Program& program) {
  Bound bound;
  bound.memory.base.resize(program.buffers.size());
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& b = program.buffers[i];
    if (b.kind == Buffer::Kind::input) bound.input = i;
    if (b.kind == Buffer::Kind::output) bound.output = i;
    if (b.kind == Buffer::Kind::arena)
      bound.memory.base[i] = arena_.get() + static_cast<size_t>(b.offset) * sizeof(float);
    if (b.kind == Buffer::Kind::state)
      bound.memory.base[i] = state_.get() + static_cast<size_t>(b.offset) * sizeof(float);
    // Steps only read tensors: the checker refuses any other.
    if (b.kind == Buffer::Kind::tensor)
      bound.memory.base[i] = const_cast<std::byte*>(file_.find(b.tensor)->bytes.data());
  }
  bound.steps.reserve(program.steps.size());
  for (const Step& step : program.steps) bound.steps.push_back(row_of(step.kind).bind(step, program));
  return bound;
}

void Engine::run_steps(Bound& bound, const float* input, float* output, std::span<double> seconds) {
  // The input is only read.
  bound.memory.base[bound.input] = reinterpret_cast<std::byte*>(const_cast<float*>(input));
  bound.memory.base[bound.output] = reinterpret_cast<std::byte*>(output);
  bound.memory.position = position_;
  for (size_t i = 0; i < bound.steps.size(); ++i) {
    const Stopwatch watch;
    bound.steps[i](bound.memory);
    if (!seconds.empty()) seconds[i] += watch.seconds();
  }
}

const Program& Engine::program(int64_t height, int64_t width) const {
  std::vector<std::string> sizes;
  if (takes_tokens()) throw std::invalid_argument("this model takes tokens, not images: fib generate --engine runs it");
  for (const Program& p : content_.programs) {
    if (p.height() == height && p.width() == width) return p;
    sizes.push_back(fmt::format("{} x {}", p.height(), p.width()));
  }
  throw std::invalid_argument(
      fmt::format("images of {} x {}; this model was compiled for {}", height, width, fmt::join(sizes, ", ")));
}

void Engine::run(const Program& program, std::span<const float> samples, std::span<float> logits,
                 std::span<double> step_seconds) {
  const auto per_sample = static_cast<size_t>(program.sample_elements());
  const auto classes = static_cast<size_t>(program.classes);
  const size_t batch = samples.size() / per_sample;
  if (batch == 0 || samples.size() % per_sample != 0 || logits.size() != batch * classes)
    throw std::invalid_argument(fmt::format("{} values and {} logits, expected a multiple of {} and {} for each sample",
                                            samples.size(), logits.size(), fmt::join(program.sample, " x "), classes));
  if (static_cast<int64_t>(batch) > content_.most_samples)
    throw std::invalid_argument(
        fmt::format("a batch of {}, this model was compiled for up to {}", batch, content_.most_samples));
  Bound& bound = bound_[static_cast<size_t>(&program - content_.programs.data())];
  with_awake_threads([&] {
    for (size_t i = 0; i < batch; ++i)
      run_steps(bound, samples.data() + i * per_sample, logits.data() + i * classes, step_seconds);
  });
}

// ---- Decoders -------------------------------------------------------------------------------------------------------

void Engine::restart() {
  position_ = 0;
  std::fill_n(reinterpret_cast<float*>(state_.get()), content_.programs.front().state_elements, 0.0F);
}

void Engine::check_step(std::span<const int32_t> tokens, std::span<const float> logits) const {
  const Program& program = content_.programs.front();
  if (!takes_tokens()) throw std::invalid_argument("this model takes images, not tokens");
  if (tokens.empty() || static_cast<int64_t>(logits.size()) != program.classes)
    throw std::invalid_argument(fmt::format("{} tokens and {} logits, expected are tokens and {} logits", tokens.size(),
                                            logits.size(), program.classes));
  for (const int32_t token : tokens) {
    if (token < 0 || token >= program.classes)
      throw std::invalid_argument(fmt::format("token {}, accepted are 0 to {}", token, program.classes - 1));
  }
  if (static_cast<int64_t>(tokens.size()) > most_positions_ - position_)
    throw std::invalid_argument(fmt::format("{} tokens after {}, this model has learned positions for {}",
                                            tokens.size(), position_, most_positions_));
}

size_t Engine::program_of(int64_t tokens) const {
  size_t best = content_.programs.size();
  for (size_t i = 0; i < content_.programs.size(); ++i) {
    const int64_t takes = content_.programs[i].tokens();
    if (takes <= tokens && (best == content_.programs.size() || takes > content_.programs[best].tokens())) best = i;
  }
  return best;
}

void Engine::step(std::span<const int32_t> tokens, std::span<float> logits) {
  check_step(tokens, logits);
  const std::vector<float> numbers(tokens.begin(), tokens.end());
  with_awake_threads([&] {
    for (size_t done = 0; done < numbers.size();) {
      const size_t program = program_of(static_cast<int64_t>(numbers.size() - done));
      run_steps(bound_[program], numbers.data() + done, logits.data(), {});
      const int64_t taken = content_.programs[program].tokens();
      done += static_cast<size_t>(taken), position_ += taken;
    }
  });
}

}  // namespace fib::engine
