// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "base/measure.h"
#include "base/parallel.h"
#include "base/system.h"

namespace fib::engine {
namespace {

/// The arena of the largest program, zeroed, on huge pages where the system has them to give.
std::byte* make_arena(const FibContent& content) {
  int64_t most = 0;
  for (const Program& p : content.programs) most = std::max(most, p.arena_elements);
  constexpr size_t kHugePage = size_t{2} << 20;
  const size_t bytes = (static_cast<size_t>(most) * sizeof(float) + kHugePage) / kHugePage * kHugePage;
  void* memory = allocate_aligned(kHugePage, bytes);
  madvise(memory, bytes, MADV_HUGEPAGE);
  return static_cast<std::byte*>(memory);
}

}  // namespace

Engine::Engine(const std::filesystem::path& file, const Limits& limits)
    : file_(file),
      content_(read_fib_metadata(file_.metadata(), file_.tensors(), file.string())),
      arena_(nullptr, std::free) {
  const auto refuse = [&](const std::exception& error) {
    throw std::runtime_error(fmt::format("cannot run '{}': {}", file.string(), error.what()));
  };
  try {
    check_limits(requirements(content_.programs), limits);
  } catch (const std::exception& error) {
    refuse(error);
  }
  arena_.reset(make_arena(content_));
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
    // Steps only read tensors: the checker refuses any other.
    if (b.kind == Buffer::Kind::tensor)
      bound.memory.base[i] = const_cast<std::byte*>(file_.find(b.tensor)->bytes.data());
  }
  bound.steps.reserve(program.steps.size());
  for (const Step& step : program.steps) bound.steps.push_back(row_of(step.kind).bind(step, program));
  return bound;
}

void Engine::run_steps(const Bound& bound, std::span<double> seconds) {
  for (size_t i = 0; i < bound.steps.size(); ++i) {
    const Stopwatch watch;
    bound.steps[i](bound.memory);
    if (!seconds.empty()) seconds[i] += watch.seconds();
  }
}

const Program& Engine::program(int64_t height, int64_t width) const {
  std::vector<std::string> sizes;
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
    for (size_t i = 0; i < batch; ++i) {
      // The input is only read.
      bound.memory.base[bound.input] =
          reinterpret_cast<std::byte*>(const_cast<float*>(samples.data() + i * per_sample));
      bound.memory.base[bound.output] = reinterpret_cast<std::byte*>(logits.data() + i * classes);
      run_steps(bound, step_seconds);
    }
  });
}

}  // namespace fib::engine
