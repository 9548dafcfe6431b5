// SPDX-License-Identifier: Apache-2.0
// Convolutions over time, forwards and transposed. Packed weights go tap by tap, so that with channels last a window is
// as many consecutive values as the kernel is long.
#include <algorithm>
#include <stdexcept>

#include "base/parallel.h"
#include "engine/aten_call.h"
#include "engine/lowerer.h"
#include "engine/node_checker.h"
#include "engine/onnx_node.h"
#include "engine/operators/products.h"
#include "engine/step_checker.h"
#include "engine/step_fields.h"

namespace fib::engine {
namespace {

/// Windows along T values.
Checked window_count(int64_t size, const Conv1d& c) {
  return (Checked(size) + Checked(2) * c.padding - c.kernel).value() / c.stride + 1;
}

void check_conv1d(const NodeChecker& n) {
  const auto& a = n.attributes<Conv1d>();
  const Shape &x = n.in(0), &w = n.in(1);
  n.require(x.size() == 3 && w.size() == 3 && x[1] == w[1] && w[2] == Dim{a.kernel, false} && a.stride >= 1 &&
                a.padding >= 0 && !x[2].batched && x[2].count + 2 * a.padding >= a.kernel &&
                (!n.has(2) || n.in(2) == Shape{w[0]}),
            "weights do not fit");
  n.require(n.out() == Shape{x[0], w[0], Dim{window_count(x[2].count, a).value(), false}}, "the length is another");
}

OnnxName conv1d_to_onnx(OnnxNode& node) {
  const auto& a = node.as<Conv1d>();
  std::vector<OnnxName> inputs{node.in(0), node.in(1)};
  if (node.has(2)) inputs.push_back(node.in(2));
  return node.node("Conv", inputs,
                   {{"strides", std::vector<int64_t>{a.stride}}, {"pads", std::vector<int64_t>{a.padding, a.padding}}});
}

// ---- Lowering -------------------------------------------------------------------------------------------------------

/// weight [D,C,k] as [D,k,C].
std::vector<float> by_tap(std::span<const float> weights, const std::vector<int64_t>& w) {
  std::vector<float> turned(weights.size());
  const auto channels = static_cast<size_t>(w[1]), taps = static_cast<size_t>(w[2]);
  for (size_t i = 0; i < weights.size(); ++i) {
    const size_t tap = i % taps, channel = i / taps % channels, out = i / taps / channels;
    turned[(out * taps + tap) * channels + channel] = weights[i];
  }
  return turned;
}

void lower_conv1d(Lowerer& l, size_t n) {
  const Node& node = l.node(n);
  const std::vector<int64_t> w = l.shape(node.inputs[1]), to = l.shape(node.output);
  if (!l.constant(node.inputs[1])) throw std::invalid_argument("a convolution's weights must be constant");
  const Operand x = l.view(node.inputs[0]);
  const Lowerer::Fused fused = l.fuse_activation(node.output);
  const Operand out = l.fresh({to[0], to[2], to[1]});
  const auto packed = pack_weights(by_tap(l.value(node.inputs[1]).elements(), w), w[0], w[1] * w[2]);
  Step& s = l.add_step(StepKind::conv1d);
  s.attributes = node.as<Conv1d>();
  s.function = fused.function;
  s.at(Role::x) = x, s.at(Role::out) = out;
  s.at(Role::weights) = l.floats(l.name(node.inputs[1]), packed);
  s.at(Role::bias) = l.bias_of(node);
  l.add_scratch(s);
  l.set(fused.output, permuted(out, {0, 2, 1}));
}

// ---- The step -------------------------------------------------------------------------------------------------------

/// A kernel of one value reads rows as they lie.
bool reads_in_place(const Step& s) {
  const auto& a = s.as<Conv1d>();
  const Operand& x = s.at(Role::x);
  return a.kernel == 1 && a.stride == 1 && a.padding == 0 && x.sizes[0] == 1 && (x.strides[1] == 1 || x.sizes[1] == 1);
}

Checked conv1d_depth(const Step& s) { return Checked(s.at(Role::x).sizes[1]) * s.as<Conv1d>().kernel; }

int64_t conv1d_scratch(const Step& s, const Program&) {
  if (reads_in_place(s)) return 0;
  const Operand& out = s.at(Role::out);
  return (conv1d_depth(s) * out.sizes[0] * out.sizes[1]).value();
}

void check_conv1d_step(const StepChecker& s) {
  s.need({Role::x, Role::weights});
  s.rank(Role::x, 3), s.rank(Role::out, 3);
  s.dense_rows(Role::out);
  s.require(s.buffer(Role::weights).type == TensorType::f32, "its weights are not float32");
  constexpr int64_t kMostWindow = 1 << 14;
  const auto& a = s.attributes<Conv1d>();
  const auto within = [](int64_t value, int64_t least) { return value >= least && value <= kMostWindow; };
  s.require(within(a.kernel, 1) && within(a.stride, 1) && within(a.padding, 0), "kernel {}, stride {}, padding {}",
            a.kernel, a.stride, a.padding);
  const int64_t size = s.size(Role::x, 2), columns = s.size(Role::out, 2);
  s.require(Checked(size) + Checked(2) * a.padding >= a.kernel, "the kernel is longer than what it goes over");
  s.same(s.size(Role::x, 0), s.size(Role::out, 0), "samples");
  s.same(s.size(Role::out, 1), window_count(size, a).value(), "positions");
  s.whole(Role::weights, packed_elements(columns, conv1d_depth(s.step())));
  s.epilogue(columns);
  const Operand& out = s.at(Role::out);
  s.require(out.sizes[0] == 1 || out.strides[0] == Checked(out.strides[1]) * out.sizes[1], "out is not in rows");
  s.require(!s.step().has(Role::residual), "it adds no residual");
  s.need_scratch();
}

/// The windows of x as rows [n·T', k·C].
void unfold(const Step& s, const float* x, float* rows) {
  const auto& a = s.as<Conv1d>();
  const Operand &in = s.at(Role::x), &out = s.at(Role::out);
  const int64_t channels = in.sizes[1], depth = channels * a.kernel, positions = out.sizes[1];
  const int64_t tasks = std::max<int64_t>(1, out.sizes[0] * positions * depth / 16384);
  const auto row = [&](int64_t i) {
    float* to = rows + i * depth;
    const float* sample = x + i / positions * in.strides[0];
    for (int64_t tap = 0; tap < a.kernel; ++tap, to += channels) {
      const int64_t t = i % positions * a.stride - a.padding + tap;
      const float* from = sample + t * in.strides[2];
      if (t < 0 || t >= in.sizes[2]) {
        std::fill_n(to, channels, 0.0F);
      } else if (in.strides[1] == 1) {
        std::copy_n(from, channels, to);
      } else {
        for (int64_t c = 0; c < channels; ++c) to[c] = from[c * in.strides[1]];
      }
    }
  };
  const int64_t all = out.sizes[0] * positions;
  parallel_tasks(tasks, [&](int64_t task) {
    for (int64_t i = all * task / tasks; i < all * (task + 1) / tasks; ++i) row(i);
  });
}

void run_conv1d(const Step& s, const Memory& m) {
  const Operand &x = s.at(Role::x), &out = s.at(Role::out);
  const int64_t depth = x.sizes[1] * s.as<Conv1d>().kernel;
  FloatProduct p;
  set_product(p, s, m, {out.sizes[0] * out.sizes[1], out.sizes[2], depth});
  if (reads_in_place(s)) {
    p.x = m.floats(x), p.x_stride = x.strides[2];
  } else {
    float* const rows = m.floats(s.at(Role::scratch));
    unfold(s, m.floats(x), rows);
    p.x = rows, p.x_stride = depth;
  }
  p.weights = m.floats(s.at(Role::weights));
  run_product(p);
}

StepCost conv1d_cost(const Step& s, const Program&) {
  const Checked outputs = s.at(Role::out).elements(), depth = conv1d_depth(s);
  const Checked rows = Checked(s.at(Role::out).sizes[0]) * s.at(Role::out).sizes[1];
  return {outputs * (depth + kElementWork) + rows * depth * kElementWork, 0, 0, outputs * depth};
}

void conv1d_fields(StepFields& fields, Step& step) {
  edit_attributes<Conv1d>(step, [&](Conv1d& a) {
    fields.integer("kernel", a.kernel, {1, StepFields::Range().most});
    fields.integer("stride", a.stride, {1, StepFields::Range().most});
    fields.integer("padding", a.padding, {});
  });
}

}  // namespace

const Operator operators::conv1d{.name = "conv1d",
                                 .least_inputs = 2,
                                 .most_inputs = 3,
                                 .optional_inputs = true,
                                 .check = check_conv1d,
                                 .aten = {},
                                 .lower = lower_conv1d,
                                 .onnx = conv1d_to_onnx};

const StepType steps::conv1d{
    .name = "conv1d",
    .check = check_conv1d_step,
    .bind = [](const Step& s, const Program&) -> BoundStep { return [&s](const Memory& m) { run_conv1d(s, m); }; },
    .cost = conv1d_cost,
    .fields = conv1d_fields,
    .scratch = conv1d_scratch};

}  // namespace fib::engine
