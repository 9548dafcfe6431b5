// SPDX-License-Identifier: Apache-2.0
// Linear layers in bfloat16: both factors of every product are rounded to the nearest (of two as near the even one;
// numbers below 2^-126 are 0), forward and backward, and sums are float32. What is kept is float32 as well. A result is
// one chain of additions, two products at a time as VDPBF16PS adds them: the second product of a pair, then the first,
// each with one rounding. So it is the same for any number of threads, for any size of cache, and where the instruction
// is missing, which is then emulated.
//
// Letters and arrays are those of linear.h.
#pragma once

#include <cstdint>

#include "kernels/linear.h"

namespace fib::kernels {

/// Where linear_fits holds.
void linear_bf16_forward(const LinearShape& shape, const LinearForward& call);
void linear_bf16_backward(const LinearShape& shape, const LinearBackward& call);

// ---- What the targets see -------------------------------------------------------------------------------------------

/// Two neighbors of the depth, the first in the lower half.
using Bf16Pair = uint32_t;

/// c [rows, panel's columns] = start + a · panel, or c + a · panel. Strides count pairs; those of c, floats.
struct Bf16Product {
  int64_t rows, pairs;
  const Bf16Pair* a;
  int64_t a_row, a_pair;
  const Bf16Pair* panel;  ///< [pairs, columns]
  float* c;
  int64_t c_row;
  bool begins;         ///< else sums go on from c
  const float* start;  ///< where they begin, for each column; null: 0
};

/// Numbers that become pairs, times the derivative where there is one.
struct Bf16Source {
  const float* values;
  const float* derivative;
  int64_t stride;
};

struct Bf16Table {
  int64_t lanes;
  void (*multiply)(const Bf16Product& product, int64_t vectors, bool emulate);
  /// [rows, depth] to [rows, (depth + 1) / 2]: pairs along each row.
  void (*along_rows)(const Bf16Source& source, int64_t rows, int64_t depth, Bf16Pair* into);
  /// [depth, columns] to [(depth + 1) / 2, columns]: pairs of rows; `sums`, if given, has each column's.
  void (*across_rows)(const Bf16Source& source, int64_t depth, int64_t columns, Bf16Pair* into, float* sums);
  /// In place of what a product has left in `out` [rows, columns], whose rows follow each other.
  void (*gelu)(int64_t values, float* out, float* derivative);
};
const Bf16Table& linear_bf16_of_target(int64_t target);

}  // namespace fib::kernels
