// SPDX-License-Identifier: Apache-2.0
// The largest value of each channel in a window.
#include <algorithm>
#include <limits>

#include "engine/aten_call.h"
#include "engine/lowerer.h"
#include "engine/onnx_node.h"
#include "engine/operators/windows.h"

namespace fib::engine {
namespace {

void check_max_pool(const NodeChecker& n) {
  const auto& a = n.attributes<Pool2d>();
  n.require(n.in(0).size() == 4, "it takes images");
  const Shape expected{n.in(0)[0], n.in(0)[1], window_side(n, 2, a.kernel[0], a.stride[0], a.padding[0]),
                       window_side(n, 3, a.kernel[1], a.stride[1], a.padding[1])};
  n.require(expected == n.out(), "the image has another size");
}

/// (x, kernel, stride, padding, dilation, ceil_mode)
void record_max_pool(AtenCall& c) {
  c.require(c.pair(4) == std::array<int64_t, 2>{1, 1} && !c.flag(5), "is dilated or rounds up");
  const bool own_stride = c.integers(2).empty();
  c.emit(Op::max_pool2d, {c.operand(0)}, Pool2d{c.pair(1), c.pair(own_stride ? 1 : 2), c.pair(3)});
}

constexpr AtenRule kMaxPoolRules[] = {{"aten::max_pool2d", record_max_pool}};

void lower_max_pool(Lowerer& l, size_t n) {
  const Node& node = l.node(n);
  const auto& p = node.as<Pool2d>();
  const Operand x = l.view(node.inputs[0]), out = l.fresh(channels_last(l.shape(node.output)));
  Step& s = l.add_step(StepKind::max_pool2d);
  s.attributes = Window{p.kernel, p.stride, p.padding, 1};
  s.at(Role::x) = x, s.at(Role::out) = out;
  l.set(node.output, as_channels_first(out));
}

OnnxName max_pool_to_onnx(OnnxNode& node) {
  const auto& a = node.as<Pool2d>();
  const auto& [top, left] = a.padding;
  return node.node("MaxPool", {node.in(0)},
                   {{"kernel_shape", std::vector<int64_t>(a.kernel.begin(), a.kernel.end())},
                    {"strides", std::vector<int64_t>(a.stride.begin(), a.stride.end())},
                    {"pads", std::vector<int64_t>{top, left, top, left}}});
}

void check_max_pool_step(const StepChecker& s) {
  check_window(s);
  s.same(s.size(Role::x, 1), s.size(Role::out, 3), "channels");
}

void run_max_pool(const Step& s, const Memory& m) {
  const WindowGrid grid(s);
  const int64_t channels = s.at(Role::x).sizes[1], step = s.at(Role::x).strides[1];
  const float* x = m.floats(s.at(Role::x));
  float* out = m.floats(s.at(Role::out));
  const auto position = [&](int64_t p) {
    float* most = out + grid.output(p);
    std::fill_n(most, channels, -std::numeric_limits<float>::infinity());
    grid.for_taps(p, [&](int64_t, int64_t place) {
      for_channels(x + place, step, channels, [&](int64_t c, float value) { most[c] = std::max(most[c], value); });
    });
  };
  for_positions(0, grid.positions(), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) position(p);
  });
}

}  // namespace

const Operator operators::max_pool2d{.name = "max_pool2d",
                                     .check = check_max_pool,
                                     .aten = kMaxPoolRules,
                                     .lower = lower_max_pool,
                                     .onnx = max_pool_to_onnx};

const StepType steps::max_pool2d{
    .name = "max_pool2d",
    .check = check_max_pool_step,
    .bind = [](const Step& s, const Program&) -> BoundStep { return [&s](const Memory& m) { run_max_pool(s, m); }; },
    .cost = window_cost,
    .fields = window_fields};

}  // namespace fib::engine
