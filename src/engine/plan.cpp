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
  bool overlaps(const Lifetime& other) const { return first <= other.last && other.first <= last; }
};

std::vector<Lifetime> lifetimes(const Program& program) {
  std::vector<Lifetime> lives(program.buffers.size());
  for (size_t s = 0; s < program.steps.size(); ++s) {
    for_operands(program.steps[s], [&](const Operand& o) { lives[static_cast<size_t>(o.buffer)].touch(s); });
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
