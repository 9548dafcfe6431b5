// SPDX-License-Identifier: Apache-2.0
// Dilation sequences: which distances a head may look at, before its window cuts them off.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "fibottention/pattern.h"

namespace fib {

struct DilationSequence {
  int64_t first;                                          ///< its first positive element
  std::function<std::vector<int64_t>(int64_t)> elements;  ///< the positive ones up to a limit, ascending, once each
};

DilationSequence fibonacci_sequence(SequenceStart start);
/// base⁰, base¹, base², …
DilationSequence powers_of(int64_t base);
/// 1, 2^exponent, 3^exponent, …
DilationSequence integers_to_the(int exponent);
/// step, 2 step, 3 step, …
DilationSequence multiples_of(int64_t step);

/// The offsets of one head: the elements within the window, or the first positive one alone when none is; then those
/// that fit N tokens.
std::vector<int64_t> windowed_offsets(const DilationSequence& sequence, int64_t window, int64_t tokens);

}  // namespace fib
