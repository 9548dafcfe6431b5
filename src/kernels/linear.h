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

/// Whether both widths are whole panels of the target in use. Others are left to libraries.
bool linear_fits(const LinearShape& shape);

struct LinearForward {
  const float *x = nullptr, *weight = nullptr;
  const float* bias = nullptr;  ///< null: none
  float* out = nullptr;         ///< after GELU where there is one
  float* raised = nullptr;      ///< before GELU; null: no GELU
};
void linear_forward(const LinearShape& shape, const LinearForward& call);

struct LinearBackward {
  const float *x = nullptr, *weight = nullptr, *grad_out = nullptr;
  const float* raised = nullptr;                              ///< what forward left there; null: no GELU
  float *dx = nullptr, *dweight = nullptr, *dbias = nullptr;  ///< overwritten; null: not wanted
};
void linear_backward(const LinearShape& shape, const LinearBackward& call);

// ---- What the targets see -------------------------------------------------------------------------------------------

/// Rows per task. With 384 channels their results, 147 KB, stay in the second-level cache until they are finished.
inline constexpr int64_t kLinearRows = 96;
/// Depth of a product: a panel of this depth is 24 KB on AVX2 and stays in the first-level cache.
inline constexpr int64_t kLinearDepth = 384;
/// Rows whose share of the weights' gradient is summed at once.
inline constexpr int64_t kLinearSum = 256;

/// Rows of the weights' gradient [begin, end) over rows [first, last) of x.
struct WeightPart {
  int64_t begin, end, first, last;
  float *dweight, *dbias;  ///< [N,K], [N] or null: of this part of the rows
};

/// Functions of one target.
struct LinearTable {
  int64_t panel;  ///< channels out that are computed side by side, W
  /// Panels [K,W] of the outputs [panel · W, …) and, for dx, panels [N,W] of the inputs.
  void (*pack_outputs)(const LinearShape&, const float* weight, int64_t panel, float* into);
  void (*pack_inputs)(const LinearShape&, const float* weight, int64_t panel, float* into);
  void (*forward)(const LinearShape&, const LinearForward&, const float* packed, int64_t task);
  /// gradient = grad_out · GELU'(raised) of one task's rows.
  void (*gradient)(const LinearShape&, const LinearBackward&, int64_t task, float* gradient);
  void (*inputs)(const LinearShape&, const float* gradient, const float* packed, int64_t task, float* dx);
  void (*weights)(const LinearShape&, const float* x, const float* gradient, const WeightPart&, Buffer<float>& scratch);
};
const LinearTable& linear_of_target(int64_t target);

}  // namespace fib::kernels
