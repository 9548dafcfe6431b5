// SPDX-License-Identifier: Apache-2.0
// What convolutions and pools have in common: a window that walks over an image.
#pragma once

#include "engine/node_checker.h"
#include "engine/step_checker.h"
#include "engine/step_fields.h"

namespace fib::engine {

/// The side of a window's output along an axis of the image [n,C,h,w] that a node takes.
Dim window_side(const NodeChecker& node, size_t axis, int64_t kernel, int64_t stride, int64_t padding);
/// The same for a step.
int64_t window_steps(const Window& window, size_t axis, int64_t side);

/// Images lie in memory as [n,h,w,C]; what others see is [n,C,h,w].
std::vector<int64_t> channels_last(const std::vector<int64_t>& sizes);
Operand as_channels_first(const Operand& operand);

/// x [n,C,h,w] and out [n,h',w',D] fit the window.
void check_window(const StepChecker& step);
void window_fields(StepFields& fields, Step& step);
/// Of a step that visits every tap of every output.
StepCost window_cost(const Step& step, const Program& program);

/// Tasks of some 32 positions each.
void for_positions(int64_t begin, int64_t end, const std::function<void(int64_t begin, int64_t end)>& visit);

/// out [C] = combine(out, values), channels of x `step` apart.
template <class Combine>
void for_channels(const float* x, int64_t step, int64_t channels, const Combine& combine) {
  if (step == 1) {
    for (int64_t c = 0; c < channels; ++c) combine(c, x[c]);
  } else {
    for (int64_t c = 0; c < channels; ++c) combine(c, x[c * step]);
  }
}

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

}  // namespace fib::engine
