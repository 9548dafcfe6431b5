// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "engine/lower.h"

namespace fib::engine {
namespace {

/// From the first step that touches a buffer to the last.
struct Lifetime {
  size_t first = 0, last = 0;
  bool used = false;

  void touch(size_t step) {
    if (!used) first = step;
    last = step, used = true;
  }
  void touch_all(const Lifetime& other) { first = std::min(first, other.first), last = std::max(last, other.last); }
  bool overlaps(const Lifetime& other) const { return first <= other.last && other.first <= last; }
};

/// The steps of a loop count one by one. What is used inside and outside of it lives as long as all of it.
std::vector<Lifetime> lifetimes(const Program& program) {
  std::vector<Lifetime> lives(program.buffers.size());
  std::vector<Lifetime> loops;
  size_t now = 0;
  const auto touch = [&](const Step& step) {
    for_operands(step, [&](const Operand& o) { lives[static_cast<size_t>(o.buffer)].touch(now); });
    ++now;
  };
  for (const Step& step : program.steps) {
    if (step.kind != StepKind::repeat) {
      touch(step);
      continue;
    }
    const size_t begin = now;
    for (const Step& inner : step.body) touch(inner);
    loops.push_back({begin, now - 1, true});
  }
  for (const Lifetime& loop : loops) {
    for (Lifetime& life : lives) {
      const bool inside = life.used && life.first >= loop.first && life.last <= loop.last;
      if (!inside && life.used && life.overlaps(loop)) life.touch_all(loop);
    }
  }
  return lives;
}

/// A cache line.
Checked aligned(int64_t elements) { return Checked((Checked(elements) + 15).value() / 16) * 16; }

}  // namespace

void plan_arena(Program& program) {
  const std::vector<Lifetime> lives = lifetimes(program);
  std::vector<size_t> order;
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    if (program.buffers[i].kind == Buffer::Kind::arena) order.push_back(i);
  }
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return program.buffers[i].elements; });
  std::vector<size_t> placed;
  program.arena_elements = 0;
  for (const size_t i : order) {
    // The lowest place where nothing that lives at the same time is in the way.
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (const size_t other : placed) {
      const Buffer& b = program.buffers[other];
      if (lives[i].overlaps(lives[other])) taken.emplace_back(b.offset, (b.offset + aligned(b.elements)).value());
    }
    std::ranges::sort(taken);
    int64_t offset = 0;
    for (const auto& [begin, end] : taken) {
      if (offset + aligned(program.buffers[i].elements) <= begin) break;
      offset = std::max(offset, end);
    }
    program.buffers[i].offset = offset;
    program.arena_elements = std::max(program.arena_elements, (offset + aligned(program.buffers[i].elements)).value());
    placed.push_back(i);
  }
}

}  // namespace fib::engine
