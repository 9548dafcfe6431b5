// SPDX-License-Identifier: Apache-2.0
#include "engine/operators/windows.h"

#include <algorithm>

#include "base/parallel.h"
#include "engine/view.h"

namespace fib::engine {
namespace {

constexpr int64_t kMostWindow = 1 << 14;

}  // namespace

Dim window_side(const NodeChecker& node, size_t axis, int64_t kernel, int64_t stride, int64_t padding) {
  const Dim size = node.in(0)[axis];
  if (size.batched || kernel < 1 || stride < 1 || padding < 0 || Checked(size.count) + Checked(2) * padding < kernel)
    node.refuse("the window does not fit the image");
  return {(Checked(size.count) + Checked(2) * padding - kernel).value() / stride + 1, false};
}

int64_t window_steps(const Window& w, size_t axis, int64_t side) {
  return (Checked(side) + Checked(2) * w.padding[axis] - w.kernel[axis]).value() / w.stride[axis] + 1;
}

std::vector<int64_t> channels_last(const std::vector<int64_t>& s) { return {s[0], s[2], s[3], s[1]}; }
Operand as_channels_first(const Operand& o) { return permuted(o, {0, 3, 1, 2}); }

void check_window(const StepChecker& s) {
  s.need({Role::x});
  s.rank(Role::x, 4), s.rank(Role::out, 4);
  s.dense_rows(Role::out);
  const auto& w = s.attributes<Window>();
  for (size_t axis : {0, 1}) {
    const auto within = [](int64_t value, int64_t least) { return value >= least && value <= kMostWindow; };
    s.require(within(w.kernel[axis], 1) && within(w.stride[axis], 1) && within(w.padding[axis], 0),
              "kernel {}, stride {}, padding {}", w.kernel[axis], w.stride[axis], w.padding[axis]);
    const int64_t side = s.size(Role::x, 2 + axis);
    s.require(Checked(side) + Checked(2) * w.padding[axis] >= w.kernel[axis], "the kernel is larger than the image");
    s.same(s.size(Role::out, 1 + axis), window_steps(w, axis, side), "positions");
  }
  s.same(s.size(Role::x, 0), s.size(Role::out, 0), "samples");
}

void window_fields(StepFields& fields, Step& step) {
  edit_attributes<Window>(step, [&](Window& w) {
    const auto window = fields.group("window");
    window->pair("kernel", w.kernel, {});
    window->pair("stride", w.stride, {});
    window->pair("padding", w.padding, {});
    window->integer("groups", w.groups, {1, 1 << 20});
  });
}

StepCost window_cost(const Step& step, const Program&) {
  const auto& kernel = step.as<Window>().kernel;
  return {Checked(step.at(Role::out).elements()) * kernel[0] * kernel[1] * kElementWork};
}

void for_positions(int64_t begin, int64_t end, const std::function<void(int64_t begin, int64_t end)>& visit) {
  constexpr int64_t kPositionsPerTask = 32;
  parallel_tasks((end - begin + kPositionsPerTask - 1) / kPositionsPerTask, [&](int64_t task) {
    const int64_t first = begin + task * kPositionsPerTask;
    visit(first, std::min(end, first + kPositionsPerTask));
  });
}

WindowGrid::WindowGrid(const Step& s)
    : x_(s.at(Role::x)),
      out_(s.at(Role::out)),
      window_(s.as<Window>()),
      samples_(out_.sizes[0]),
      height_(out_.sizes[1]),
      width_(out_.sizes[2]),
      channels_(x_.sizes[1] / window_.groups) {}

int64_t WindowGrid::output(int64_t position) const {
  return position / (width_ * height_) * out_.strides[0] + position / width_ % height_ * out_.strides[1] +
         position % width_ * out_.strides[2];
}

void WindowGrid::unfold(const float* x, int64_t first, int64_t count, float* rows) const {
  const int64_t depth = channels_ * window_.kernel[0] * window_.kernel[1];
  for_positions(first, first + count, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) unfold_row(x, p, rows + (p - first) * depth);
  });
}

void WindowGrid::unfold_row(const float* x, int64_t position, float* row) const {
  const int64_t taps = window_.kernel[0] * window_.kernel[1], step = x_.strides[1];
  if (window_.padding[0] > 0 || window_.padding[1] > 0) std::fill_n(row, channels_ * taps, 0.0f);
  for_taps(position, [&](int64_t tap, int64_t place) {
    for (int64_t c = 0; c < channels_; ++c) row[c * taps + tap] = x[place + c * step];
  });
}

}  // namespace fib::engine
