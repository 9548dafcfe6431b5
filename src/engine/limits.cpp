// SPDX-License-Identifier: Apache-2.0
#include "engine/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace fib::engine {
namespace {

constexpr int64_t kFloat = sizeof(float);

/// Of a program without its arena.
struct Sum {
  Checked work = 0, scratch = 0, kept = 0;
};

Sum sum_of(const Program& program) {
  Sum sum;
  for (const Step& step : program.steps) {
    const StepCost cost = row_of(step.kind).cost(step, program);
    sum.work += cost.work, sum.kept += cost.kept;
    sum.scratch = std::max(sum.scratch, cost.scratch);
  }
  sum.scratch += (checked_product(program.sample) + program.classes) * kFloat;
  return sum;
}

}  // namespace

Requirements requirements(const Program& program) { return requirements(std::span(&program, 1)); }

Requirements requirements(std::span<const Program> programs) {
  Checked arena = 0, state = 0, work = 0, scratch = 0, kept = 0;
  for (const Program& program : programs) {
    const Sum sum = sum_of(program);
    arena = std::max<Checked>(arena, program.arena_elements), state = std::max<Checked>(state, program.state_elements);
    work = std::max(work, sum.work), scratch = std::max(scratch, sum.scratch);
    kept += sum.kept;
  }
  return {((arena + state) * kFloat + scratch + kept).value(), work.value()};
}

void check_limits(const Requirements& needed, const Limits& limits) {
  constexpr double kGibibyte = 1 << 30, kTera = 1e12;
  const auto number = [](int64_t value) { return static_cast<double>(value); };
  if (needed.memory > limits.memory)
    throw std::runtime_error(fmt::format("it needs {:.3g} GiB of memory, granted are {:.3g} (--max-memory)",
                                         number(needed.memory) / kGibibyte, number(limits.memory) / kGibibyte));
  if (needed.work > limits.work)
    throw std::runtime_error(
        fmt::format("it needs {:.4g} T multiply-adds for a sample, granted are {:.4g} (--max-work)",
                    number(needed.work) / kTera, number(limits.work) / kTera));
}

}  // namespace fib::engine
