// SPDX-License-Identifier: Apache-2.0
#include "engine/windows.h"

#include <algorithm>
#include <limits>

#include "base/parallel.h"

namespace fib::engine {
namespace {

constexpr int64_t kPositionsPerTask = 32;

template <class Visit>
void for_positions(int64_t begin, int64_t end, const Visit& visit) {
  parallel_tasks((end - begin + kPositionsPerTask - 1) / kPositionsPerTask, [&](int64_t task) {
    const int64_t first = begin + task * kPositionsPerTask;
    for (int64_t p = first; p < std::min(end, first + kPositionsPerTask); ++p) visit(p);
  });
}

/// out [C] = combine(out, values), channels of x `step` apart.
template <class Combine>
void for_channels(const float* x, int64_t step, int64_t channels, const Combine& combine) {
  if (step == 1) {
    for (int64_t c = 0; c < channels; ++c) combine(c, x[c]);
  } else {
    for (int64_t c = 0; c < channels; ++c) combine(c, x[c * step]);
  }
}

}  // namespace

WindowGrid::WindowGrid(const Step& s)
    : x_(s.at(Role::x)),
      out_(s.at(Role::out)),
      window_(s.window),
      samples_(out_.sizes[0]),
      height_(out_.sizes[1]),
      width_(out_.sizes[2]),
      channels_(x_.sizes[1] / s.window.groups) {}

int64_t WindowGrid::output(int64_t position) const {
  return position / (width_ * height_) * out_.strides[0] + position / width_ % height_ * out_.strides[1] +
         position % width_ * out_.strides[2];
}

void WindowGrid::unfold(const float* x, int64_t first, int64_t count, float* rows) const {
  const int64_t depth = channels_ * window_.kernel[0] * window_.kernel[1];
  for_positions(first, first + count, [&](int64_t p) { unfold_row(x, p, rows + (p - first) * depth); });
}

void WindowGrid::unfold_row(const float* x, int64_t position, float* row) const {
  const int64_t taps = window_.kernel[0] * window_.kernel[1], step = x_.strides[1];
  if (window_.padding[0] > 0 || window_.padding[1] > 0) std::fill_n(row, channels_ * taps, 0.0f);
  for_taps(position, [&](int64_t tap, int64_t place) {
    for (int64_t c = 0; c < channels_; ++c) row[c * taps + tap] = x[place + c * step];
  });
}

void run_depthwise(const Step& s, const float* x, const float* weights, const float* bias, float* out) {
  const WindowGrid grid(s);
  const int64_t channels = s.at(Role::x).sizes[1], step = s.at(Role::x).strides[1];
  for_positions(0, grid.positions(), [&](int64_t p) {
    float* sum = out + grid.output(p);
    if (bias != nullptr) {
      std::copy_n(bias, channels, sum);
    } else {
      std::fill_n(sum, channels, 0.0f);
    }
    grid.for_taps(p, [&](int64_t tap, int64_t place) {
      const float* w = weights + tap * channels;
      for_channels(x + place, step, channels, [&](int64_t c, float value) { sum[c] += w[c] * value; });
    });
  });
}

void run_max_pool(const Step& s, const float* x, float* out) {
  const WindowGrid grid(s);
  const int64_t channels = s.at(Role::x).sizes[1], step = s.at(Role::x).strides[1];
  for_positions(0, grid.positions(), [&](int64_t p) {
    float* most = out + grid.output(p);
    std::fill_n(most, channels, -std::numeric_limits<float>::infinity());
    grid.for_taps(p, [&](int64_t, int64_t place) {
      for_channels(x + place, step, channels, [&](int64_t c, float value) { most[c] = std::max(most[c], value); });
    });
  });
}

}  // namespace fib::engine
