// SPDX-License-Identifier: Apache-2.0
// Convolutions: in general a product of unfolded windows and packed weights, depthwise ones tap by tap.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "engine/aten_call.h"
#include "engine/lowerer.h"
#include "engine/onnx_node.h"
#include "engine/operators/products.h"
#include "engine/operators/windows.h"

namespace fib::engine {
namespace {

void check_conv(const NodeChecker& n) {
  const auto& a = n.attributes<Conv2d>();
  const Shape &x = n.in(0), &w = n.in(1);
  n.require(x.size() == 4 && w.size() == 4 && a.groups > 0 && x[1] == Dim{w[1].count * a.groups, false} &&
                w[0].count % a.groups == 0 && (!n.has(2) || n.in(2) == Shape{w[0]}),
            "weights do not fit");
  const Shape expected{x[0], w[0], window_side(n, 2, w[2].count, a.stride[0], a.padding[0]),
                       window_side(n, 3, w[3].count, a.stride[1], a.padding[1])};
  n.require(expected == n.out(), "the image has another size");
}

/// (x, weight, bias, stride, padding, dilation, groups)
void record_conv(AtenCall& c) {
  c.require(c.pair(5) == std::array<int64_t, 2>{1, 1}, "is dilated");
  const Conv2d attributes{c.pair(3), c.pair(4), c.integer(6)};
  c.emit(Op::conv2d, {c.operand(0), c.operand(1), c.operand(2)}, attributes);
}

std::vector<int64_t> conv_sizes(const AtenCall& c) {
  if (!c.is_integers(4)) return {};
  const std::vector<int64_t> x = c.sizes(0), weight = c.sizes(1);
  const auto stride = c.pair(3), padding = c.pair(4);
  const auto side = [&](size_t axis) {
    return (x[axis + 2] + 2 * padding[axis] - weight[axis + 2]) / stride[axis] + 1;
  };
  return {x[0], weight[0], side(0), side(1)};
}

constexpr AtenRule kConvRules[] = {{"aten::conv2d", record_conv, conv_sizes}};

OnnxName conv_to_onnx(OnnxNode& node) {
  const auto& a = node.as<Conv2d>();
  const auto& [top, left] = a.padding;
  std::vector<OnnxName> inputs{node.in(0), node.in(1)};
  if (node.has(2)) inputs.push_back(node.in(2));
  return node.node("Conv", inputs,
                   {{"strides", std::vector<int64_t>(a.stride.begin(), a.stride.end())},
                    {"pads", std::vector<int64_t>{top, left, top, left}},
                    {"group", a.groups}});
}

// ---- Lowering -------------------------------------------------------------------------------------------------------

/// weight [C,1,kh,kw] as [kh,kw,C].
std::vector<float> by_tap(std::span<const float> weights, const std::vector<int64_t>& w) {
  const auto channels = static_cast<size_t>(w[0]), taps = static_cast<size_t>(w[2] * w[3]);
  std::vector<float> turned(weights.size());
  for (size_t c = 0; c < channels; ++c) {
    for (size_t t = 0; t < taps; ++t) turned[t * channels + c] = weights[c * taps + t];
  }
  return turned;
}

/// weight [D,C/groups,kh,kw]: the matrix of each group, packed.
std::vector<float> packed_groups(std::span<const float> weights, const std::vector<int64_t>& w, const Conv2d& c) {
  const int64_t columns = w[0] / c.groups, depth = w[1] * w[2] * w[3];
  if (c.groups > 1 && columns % kPanelColumns != 0)
    throw std::invalid_argument(fmt::format("a convolution with {} groups of {} channels", c.groups, columns));
  std::vector<float> packed;
  for (int64_t g = 0; g < c.groups; ++g) {
    const auto part =
        pack_weights(weights.subspan(static_cast<size_t>(g * columns * depth), static_cast<size_t>(columns * depth)),
                     columns, depth);
    packed.insert(packed.end(), part.begin(), part.end());
  }
  return packed;
}

void lower_conv(Lowerer& l, size_t n) {
  const Node& node = l.node(n);
  const auto& c = node.as<Conv2d>();
  const std::vector<int64_t> w = l.shape(node.inputs[1]);
  const Operand x = l.view(node.inputs[0]);
  const bool depthwise = c.groups == x.sizes[1] && w[0] == c.groups && c.groups > 1;
  const Lowerer::Fused fused =
      depthwise ? Lowerer::Fused{node.output, Function::none, std::nullopt} : l.fuse_activation(node.output);
  const Operand out = l.fresh(channels_last(l.shape(node.output)));
  Step& s = l.add_step(depthwise ? StepKind::depthwise : StepKind::conv2d);
  s.attributes = Window{{w[2], w[3]}, c.stride, c.padding, c.groups};
  s.function = fused.function;
  s.at(Role::x) = x, s.at(Role::out) = out;
  const auto weights = l.value(node.inputs[1]).elements();
  s.at(Role::weights) = l.floats(l.name(node.inputs[1]), depthwise ? by_tap(weights, w) : packed_groups(weights, w, c));
  s.at(Role::bias) = l.bias_of(node);
  l.add_scratch(s);
  l.set(fused.output, as_channels_first(out));
}

// ---- Steps ----------------------------------------------------------------------------------------------------------

/// Rows of windows that are laid out as a matrix at a time.
int64_t convolution_rows(const Step& step) {
  constexpr int64_t kMostRows = 1024;
  const Operand& out = step.at(Role::out);
  return std::min(kMostRows, checked_product(std::span(out.sizes).first(3)).value());
}

int64_t conv_scratch(const Step& step, const Program&) {
  const auto& w = step.as<Window>();
  const Checked depth = Checked(step.at(Role::x).sizes[1] / w.groups) * w.kernel[0] * w.kernel[1];
  return (depth * convolution_rows(step)).value();
}

void check_conv_weights(const StepChecker& s) {
  check_window(s);
  s.need({Role::weights});
  s.require(s.buffer(Role::weights).type == TensorType::f32, "its weights are not float32");
}

void check_conv_step(const StepChecker& s) {
  check_conv_weights(s);
  const auto& w = s.attributes<Window>();
  const int64_t in = s.size(Role::x, 1), out = s.size(Role::out, 3);
  s.require(w.groups >= 1 && in % w.groups == 0 && out % w.groups == 0, "{} groups of {} and {} channels", w.groups, in,
            out);
  const int64_t columns = out / w.groups;
  s.require(w.groups == 1 || columns % kPanelColumns == 0, "{} columns in a group", columns);
  const Checked taps = Checked(w.kernel[0]) * w.kernel[1];
  s.whole(Role::weights, packed_elements(columns, taps * (in / w.groups)) * w.groups);
  s.epilogue(out);
  const Operand& o = s.at(Role::out);
  s.require(o.sizes[2] == 1 || o.sizes[1] == 1 || o.strides[1] == Checked(o.strides[2]) * o.sizes[2],
            "out is not in rows");
  s.require(o.sizes[0] == 1 || o.strides[0] == Checked(o.strides[2]) * o.sizes[2] * o.sizes[1], "out is not in rows");
  s.require(!s.step().has(Role::residual) || s.at(Role::residual).strides == o.strides,
            "residual and out lie differently");
  s.need_scratch();
}

void check_depthwise_step(const StepChecker& s) {
  check_conv_weights(s);
  const auto& w = s.attributes<Window>();
  const int64_t channels = s.size(Role::x, 1);
  s.require(s.step().function == Function::none, "no such function");
  s.same(channels, s.size(Role::out, 3), "channels");
  s.whole(Role::weights, Checked(w.kernel[0]) * w.kernel[1] * channels);
  s.whole(Role::bias, channels);
}

void run_conv2d(const Step& s, const Memory& m) {
  const Operand &x = s.at(Role::x), &out = s.at(Role::out);
  const auto& window = s.as<Window>();
  const WindowGrid grid(s);
  const int64_t groups = window.groups, columns = out.sizes[3] / groups;
  const int64_t depth = x.sizes[1] / groups * window.kernel[0] * window.kernel[1];
  const int64_t block = convolution_rows(s), matrix = panels_of(columns) * kPanelColumns * depth;
  float* const rows = m.floats(s.at(Role::scratch));
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t first = 0; first < grid.positions(); first += block) {
      const int64_t count = std::min(block, grid.positions() - first);
      grid.unfold(m.floats(x) + g * (x.sizes[1] / groups) * x.strides[1], first, count, rows);
      FloatProduct p;
      set_product(p, s, m, {count, columns, depth});
      p.x = rows, p.x_stride = depth, p.weights = m.floats(s.at(Role::weights)) + g * matrix;
      p.out += first * p.out_stride + g * columns;
      if (p.epilogue.bias != nullptr) p.epilogue.bias += g * columns;
      if (p.epilogue.residual != nullptr) p.epilogue.residual += first * p.epilogue.residual_stride + g * columns;
      run_product(p);
    }
  }
}

void run_depthwise(const Step& s, const Memory& m) {
  const WindowGrid grid(s);
  const int64_t channels = s.at(Role::x).sizes[1], step = s.at(Role::x).strides[1];
  const float *x = m.floats(s.at(Role::x)), *weights = m.floats(s.at(Role::weights));
  const float* bias = m.optional(s.at(Role::bias));
  float* out = m.floats(s.at(Role::out));
  const auto position = [&](int64_t p) {
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
  };
  for_positions(0, grid.positions(), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) position(p);
  });
}

/// The product, and unfolding what it reads.
StepCost conv_cost(const Step& s, const Program&) {
  const auto& w = s.as<Window>();
  const Checked depth = Checked(s.at(Role::x).sizes[1] / w.groups) * w.kernel[0] * w.kernel[1];
  const Checked outputs = s.at(Role::out).elements(), positions = outputs.value() / s.at(Role::out).sizes[3];
  return {outputs * (depth + kElementWork) + positions * depth * w.groups * kElementWork, 0, 0, outputs * depth};
}

}  // namespace

const Operator operators::conv2d{.name = "conv2d",
                                 .least_inputs = 2,
                                 .most_inputs = 3,
                                 .optional_inputs = true,
                                 .check = check_conv,
                                 .aten = kConvRules,
                                 .lower = lower_conv,
                                 .onnx = conv_to_onnx};

const StepType steps::conv2d{
    .name = "conv2d",
    .check = check_conv_step,
    .bind = [](const Step& s, const Program&) -> BoundStep { return [&s](const Memory& m) { run_conv2d(s, m); }; },
    .cost = conv_cost,
    .fields = window_fields,
    .scratch = conv_scratch};

const StepType steps::depthwise{
    .name = "depthwise",
    .check = check_depthwise_step,
    .bind = [](const Step& s, const Program&) -> BoundStep { return [&s](const Memory& m) { run_depthwise(s, m); }; },
    .cost = window_cost,
    .fields = window_fields};

}  // namespace fib::engine
