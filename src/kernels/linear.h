// SPDX-License-Identifier: Apache-2.0
// Linear layers in float32, with GELU behind them where asked: the passes over memory that bias, activation and their
// gradients would take by themselves happen while a block of rows is in the cache.
//
// Letters: M rows, K channels in, N channels out; x [M,K], weight [N,K], bias [N], out [M,N], all contiguous. Results
// are bitwise equal for any number of threads.
#pragma once

#include <cstdint>

#include "kernels/workspace.h"

namespace fib::kernels {

struct LinearShape {
  int64_t rows = 0, from = 0, to = 0;  ///< M, K, N
};

/// Whether both widths are whole vectors of the target in use. Others are left to libraries.
bool linear_fits(const LinearShape& shape);

struct LinearForward {
  const float *x = nullptr, *weight = nullptr;
  const float* bias = nullptr;  ///< null: none
  float* out = nullptr;         ///< after GELU where there is one
  float* derivative = nullptr;  ///< [M,N], GELU's derivative, for backward; null: no GELU
};
void linear_forward(const LinearShape& shape, const LinearForward& call);

struct LinearBackward {
  const float *x = nullptr, *weight = nullptr, *grad_out = nullptr;
  const float* derivative = nullptr;                          ///< what forward left there; null: no GELU
  float *dx = nullptr, *dweight = nullptr, *dbias = nullptr;  ///< overwritten; null: not wanted
};
void linear_backward(const LinearShape& shape, const LinearBackward& call);

// ---- What the targets see -------------------------------------------------------------------------------------------

/// Rows per block. With 384 channels their results, 147 KB, stay in the second-level cache until they are finished. A
/// constant, because into how many parts the sums of the weights' gradient are cut follows from it.
inline constexpr int64_t kLinearRows = 96;

/// Rows [begin, end) of the weights' gradient over rows [first, last) of x, `step` of these at once.
struct WeightPart {
  int64_t begin, end, first, last, step;
  float *dweight, *dbias;  ///< [N,K], [N] or null: of this part of the rows
};

/// Functions of one target.
struct LinearTable {
  int64_t lanes;  ///< of a vector; widths are multiples of it
  /// Into how many panels, columns that are computed side by side, this width is cut.
  int64_t (*panels)(int64_t width);
  /// Panels [K, columns] of the outputs and, for dx, panels [N, columns] of the inputs.
  void (*pack_outputs)(const LinearShape&, const float* weight, int64_t panel, float* into);
  void (*pack_inputs)(const LinearShape&, const float* weight, int64_t panel, float* into);
  void (*forward)(const LinearShape&, const LinearForward&, const float* packed, int64_t task);
  /// Of one task's rows: where there is a derivative, own [M,N] = the gradient before GELU; with `packed`, dx.
  void (*inputs)(const LinearShape&, const LinearBackward&, const float* packed, int64_t task, float* own);
  /// Gradients of weights and, where the part has all their rows and `packed` is given, of its rows of the inputs.
  void (*weights)(const LinearShape&, const LinearBackward&, const float* packed, const WeightPart&,
                  Buffer<float>& scratch);
};
const LinearTable& linear_of_target(int64_t target);

}  // namespace fib::kernels
