// SPDX-License-Identifier: Apache-2.0
// Convolutions and pools: a window that walks over an image.
#pragma once

#include "engine/program.h"

namespace fib::engine {

/// The positions of a step's window. Of a convolution, each position is a row of the matrix that meets the weights.
class WindowGrid {
 public:
  explicit WindowGrid(const Step& step);

  int64_t positions() const { return samples_ * height_ * width_; }
  /// What the windows at positions [first, first + count) see of one group: rows of [C,kh,kw], zeros outside the image.
  void unfold(const float* x, int64_t first, int64_t count, float* rows) const;

  /// visit(tap, place in the image) for the taps of a window that lie inside; the position's sample is included.
  template <class Visit>
  void for_taps(int64_t position, const Visit& visit) const {
    const int64_t top = position / width_ % height_ * window_.stride[0] - window_.padding[0];
    const int64_t left = position % width_ * window_.stride[1] - window_.padding[1];
    const int64_t begin = position / (width_ * height_) * x_.strides[0];
    for (int64_t i = 0; i < window_.kernel[0]; ++i) {
      if (top + i < 0 || top + i >= x_.sizes[2]) continue;
      for (int64_t j = 0; j < window_.kernel[1]; ++j) {
        if (left + j < 0 || left + j >= x_.sizes[3]) continue;
        visit(i * window_.kernel[1] + j, begin + (top + i) * x_.strides[2] + (left + j) * x_.strides[3]);
      }
    }
  }
  /// Where the output of a position begins.
  int64_t output(int64_t position) const;

 private:
  void unfold_row(const float* x, int64_t position, float* row) const;

  const Operand &x_, &out_;
  const Window& window_;
  int64_t samples_, height_, width_, channels_;  ///< of the output; channels of a group of the input
};

void run_depthwise(const Step& step, const float* x, const float* weights, const float* bias, float* out);
void run_max_pool(const Step& step, const float* x, float* out);

}  // namespace fib::engine
