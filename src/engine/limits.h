// SPDX-License-Identifier: Apache-2.0
// What a compiled model takes, computed from its checked steps before anything is allocated or run, and how much of it
// is granted: a file of a few hundred bytes may ask for hours and terabytes.
#pragma once

#include <cstdint>
#include <span>

#include "engine/program.h"

namespace fib::engine {

/// Of one sample. Memory is counted beside the file, which is mapped.
struct Requirements {
  int64_t memory = 0;  ///< bytes: arena, state, sample and logits, supports of attention, scratch of each thread
  int64_t work = 0;    ///< multiply-adds, or what takes as long
};

/// At 4096 pixels with dense attention ViT-L takes 1.4 GiB and 258 T, CvT-13 3.4 GiB and 65 T.
struct Limits {
  int64_t memory = int64_t{4} << 30;
  int64_t work = 400'000'000'000'000;
};

/// Of one program. Throws std::overflow_error where the numbers do not fit 63 bits.
Requirements requirements(const Program& program);
/// Of programs that share an arena and a state and are loaded together: memory of all, work of the largest.
Requirements requirements(std::span<const Program> programs);

/// Throws std::runtime_error that says what is needed and what is granted.
void check_limits(const Requirements& needed, const Limits& limits);

}  // namespace fib::engine
