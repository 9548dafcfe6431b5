// SPDX-License-Identifier: Apache-2.0
// Convolutions over images of few channels, in float32. Libraries fill the lanes of a vector with channels, and a
// decoder's eight are half of one; here neighboring pixels fill them.
//
// Letters: B images, C channels in, K channels out, h lines of w pixels, r the kernel's side, odd. x [B,C,h,w], weight
// [K,C,r,r], bias [K], out [B,K,h,w], all contiguous; stride 1, zeros beyond the border. Results are bitwise equal for
// any number of threads.
#pragma once

#include <cstdint>

namespace fib::kernels {

struct ConvolutionSize {
  int64_t images = 0, from = 0, to = 0;  ///< B, C, K
  int64_t height = 0, width = 0, kernel = 1;
};

struct ConvolutionForward {
  const float *x = nullptr, *weight = nullptr;
  const float* bias = nullptr;  ///< null: none
  float* out = nullptr;
};
void convolution_forward(const ConvolutionSize& size, const ConvolutionForward& call);

struct ConvolutionBackward {
  const float *x = nullptr, *weight = nullptr, *grad_out = nullptr;
  float *dx = nullptr, *dweight = nullptr, *dbias = nullptr;  ///< overwritten; null: not wanted
};
void convolution_backward(const ConvolutionSize& size, const ConvolutionBackward& call);

// ---- What the targets see -------------------------------------------------------------------------------------------

/// Padded images are one long line: a *tap*, a channel with a place of the kernel, is the line from another pixel on.
struct Taps {
  const float* from = nullptr;
  const int64_t* begin = nullptr;  ///< of each tap
  int64_t count = 0;
};

/// Lines of so many pixels, each `stride` after the one before.
struct PixelLines {
  float* first = nullptr;
  int64_t count = 0, stride = 0, pixels = 0;
};

/// Functions of one target. Lines have room for whole steps behind their last pixel.
struct ConvolutionTable {
  int64_t step;   ///< pixels that are computed at once
  int64_t lanes;  ///< of one vector
  /// out [k, p] = bias [k] + Σ_t weight [k, t] · tap t [p]
  void (*convolve)(const Taps&, const float* weight, const float* bias, const PixelLines& out);
  /// sums [k, t, lane] += Σ grad [k, p] · tap t [p] over the pixels p of a lane
  void (*correlate)(const Taps&, const PixelLines& grad, float* sums);
};
const ConvolutionTable& convolution_of_target(int64_t target);

}  // namespace fib::kernels
