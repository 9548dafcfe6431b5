// SPDX-License-Identifier: Apache-2.0
// Group norm: the channels of a group, at all positions of a sample, become mean 0 and deviation 1; then each channel
// has a factor and a term, and Mish or ReLU behind them where one follows.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "engine/aten_call.h"
#include "engine/lowerer.h"
#include "engine/node_checker.h"
#include "engine/onnx_node.h"
#include "engine/step_checker.h"
#include "engine/step_fields.h"
#include "kernels/activation.h"
#include "kernels/tiles.h"

namespace fib::engine {
namespace {

void check_group_norm(const NodeChecker& n) {
  const auto& a = n.attributes<GroupNorm>();
  const Shape& x = n.in(0);
  n.require(x.size() >= 2 && !x[1].batched && a.groups >= 1 && x[1].count % a.groups == 0 && n.has(1) == n.has(2) &&
                (!n.has(1) || (n.in(1) == Shape{x[1]} && n.in(1) == n.in(2))),
            "weights do not fit");
  n.require_same_shape();
}

/// (x, groups, weight, bias, eps)
void record_group_norm(AtenCall& c) {
  c.require(c.given(2) && c.given(3), "has no weights");
  c.emit(Op::group_norm, {c.operand(0), c.operand(2), c.operand(3)}, GroupNorm{c.integer(1), c.number(4)});
}

constexpr AtenRule kGroupNormRules[] = {
    {"aten::group_norm", record_group_norm, [](const AtenCall& c) { return c.sizes(0); }}};

/// InstanceNormalization of the groups, which every opset has.
OnnxName group_norm_to_onnx(OnnxNode& node) {
  const auto& a = node.as<GroupNorm>();
  const std::vector<float> ones(static_cast<size_t>(a.groups), 1), zeros(ones.size());
  const Shape& x = node.in_shape(0);
  const int64_t channels = x[1].count, positions = elements(x, 1) / x[0].count / channels;
  const Shape by_group{x[0], Dim{a.groups}, Dim{channels / a.groups * positions}};
  const OnnxName grouped = node.reshape(node.in(0), by_group);
  const OnnxName normed = node.node("InstanceNormalization",
                                    {grouped, node.floats({a.groups}, ones, ""), node.floats({a.groups}, zeros, "")},
                                    {{"epsilon", static_cast<float>(a.eps)}});
  if (!node.has(1)) return node.reshape(normed, node.out_shape());
  Shape by_channel(x.size() - 1, Dim{1});
  by_channel[0] = Dim{channels};
  const OnnxName scaled =
      node.node("Mul", {node.reshape(normed, node.out_shape()), node.reshape(node.in(1), by_channel)});
  return node.node("Add", {scaled, node.reshape(node.in(2), by_channel)});
}

// ---- Lowering -------------------------------------------------------------------------------------------------------

/// A norm's factor or term of each channel.
Operand by_channel(Lowerer& l, const Node& node, size_t input, float otherwise) {
  if (node.inputs.size() > input && node.inputs[input] != kNoValue) return l.view(node.inputs[input]);
  const std::vector<float> same(static_cast<size_t>(l.shape(node.output)[1]), otherwise);
  return l.floats("constant.same", same);
}

void lower_group_norm(Lowerer& l, size_t n) {
  const Node& node = l.node(n);
  const std::vector<int64_t> full = l.shape(node.output);
  const std::vector<int64_t> flat{full[0], full[1], product_of(full) / full[0] / full[1]};
  const Operand given = l.view(node.inputs[0]);
  const auto seen = reshaped(given, flat);
  const Operand x = seen ? *seen : *reshaped(l.copied(given), flat);
  const Lowerer::Fused fused = l.fuse(node.output, {Op::mish, Op::relu});
  const Operand like = l.fresh_like(seen ? given : dense(0, full), full);
  Step& s = l.add_step(StepKind::group_norm);
  s.attributes = node.as<GroupNorm>();
  s.function = fused.function;
  s.at(Role::x) = x, s.at(Role::out) = *reshaped(like, flat);
  s.at(Role::weights) = by_channel(l, node, 1, 1), s.at(Role::bias) = by_channel(l, node, 2, 0);
  l.set(fused.output, like);
}

// ---- The step -------------------------------------------------------------------------------------------------------

void check_group_norm_step(const StepChecker& s) {
  s.need({Role::x, Role::weights, Role::bias});
  s.rank(Role::x, 3);
  s.same_sizes(Role::x, Role::out);
  const auto& a = s.attributes<GroupNorm>();
  const int64_t channels = s.size(Role::x, 1);
  s.require(a.groups >= 1 && channels % a.groups == 0, "{} groups of {} channels", a.groups, channels);
  s.require(a.eps >= 0 && a.eps <= 1, "epsilon cannot be {}", a.eps);
  const Function f = s.step().function;
  s.require(f == Function::none || f == Function::relu || f == Function::mish, "no such function");
  s.whole(Role::weights, channels), s.whole(Role::bias, channels);
  s.require(s.buffer(Role::weights).type == TensorType::f32, "its weights are not float32");
}

StepCost group_norm_cost(const Step& s, const Program&) {
  constexpr int64_t kBytesPerChannel = 2 * (sizeof(double) + sizeof(float));
  return {Checked(s.at(Role::out).elements()) * kElementWork * 2, Checked(s.at(Role::x).sizes[1]) * kBytesPerChannel};
}

/// Channels [begin, end) of one sample, whole groups.
struct Share {
  const float* x;
  float* out;
  int64_t begin, end;
};

class BoundGroupNorm {
 public:
  explicit BoundGroupNorm(const Step& s) : s_(s), x_(s.at(Role::x)), out_(s.at(Role::out)), a_(s.as<GroupNorm>()) {}

  void run(const Memory& m) const {
    constexpr int64_t kElementsPerTask = 8192;
    const int64_t size = x_.sizes[1] / a_.groups,
                  together = std::clamp<int64_t>(kElementsPerTask / (size * x_.sizes[2]), 1, a_.groups);
    const int64_t parts = (a_.groups + together - 1) / together;
    parallel_tasks(x_.sizes[0] * parts, [&](int64_t task) {
      const int64_t sample = task / parts, first = task % parts * together;
      share({m.floats(x_) + sample * x_.strides[0], m.floats(out_) + sample * out_.strides[0], first * size,
             std::min(a_.groups, first + together) * size},
            m);
    });
  }

 private:
  /// body(position's first value of x, channel, value's place); channels innermost, which mostly lie together.
  template <class Body>
  void for_values(const Share& share, const Body& body) const {
    for (int64_t p = 0; p < x_.sizes[2]; ++p) {
      const float* x = share.x + p * x_.strides[2] + share.begin * x_.strides[1];
      const int64_t count = share.end - share.begin;
      if (x_.strides[1] == 1) {
        for (int64_t c = 0; c < count; ++c) body(p, c, x[c]);
      } else {
        for (int64_t c = 0; c < count; ++c) body(p, c, x[c * x_.strides[1]]);
      }
    }
  }

  /// The mean over each group of what was summed by channel, for each of its channels.
  void spread(std::vector<double>& sums) const {
    const int64_t size = x_.sizes[1] / a_.groups;
    for (size_t first = 0; first < sums.size(); first += static_cast<size_t>(size)) {
      const auto begin = sums.begin() + static_cast<ptrdiff_t>(first), end = begin + size;
      double sum = 0;
      for (auto i = begin; i != end; ++i) sum += *i;
      std::fill(begin, end, sum / static_cast<double>(size * x_.sizes[2]));
    }
  }

  void share(const Share& share, const Memory& m) const {
    const auto count = static_cast<size_t>(share.end - share.begin);
    std::vector<double> mean(count), variance(count);
    for_values(share, [&](int64_t, int64_t c, float x) { mean[static_cast<size_t>(c)] += x; });
    spread(mean);
    for_values(share, [&](int64_t, int64_t c, float x) {
      const double away = x - mean[static_cast<size_t>(c)];
      variance[static_cast<size_t>(c)] += away * away;
    });
    spread(variance);
    std::vector<float> factor(count), term(count);
    const float *weights = m.floats(s_.at(Role::weights)) + share.begin,
                *bias = m.floats(s_.at(Role::bias)) + share.begin;
    for (size_t c = 0; c < count; ++c) {
      const double scale = weights[c] / std::sqrt(variance[c] + a_.eps);
      factor[c] = static_cast<float>(scale);
      term[c] = static_cast<float>(bias[c] - mean[c] * scale);
    }
    write(share, factor.data(), term.data());
  }

  void write(const Share& share, const float* factor, const float* term) const {
    const int64_t count = share.end - share.begin;
    const auto place = [&](int64_t p, int64_t c) {
      return share.out + p * out_.strides[2] + (share.begin + c) * out_.strides[1];
    };
    if (out_.strides[1] == 1) {
      for_values(share, [&](int64_t p, int64_t c, float x) { place(p, 0)[c] = factor[c] * x + term[c]; });
      for (int64_t p = 0; p < x_.sizes[2]; ++p) bend(place(p, 0), count);
    } else {
      for_values(share, [&](int64_t p, int64_t c, float x) {
        *place(p, c) = factor[c] * x + term[c];
        bend(place(p, c), 1);
      });
    }
  }

  void bend(float* values, int64_t count) const {
    if (s_.function == Function::mish) kernels::mish_of_target(kernels::chosen_target()).forward(values, count, values);
    if (s_.function == Function::relu)  // NaN stays NaN
      for (int64_t c = 0; c < count; ++c) values[c] = values[c] < 0 ? 0 : values[c];
  }

  const Step& s_;
  const Operand &x_, &out_;
  GroupNorm a_;
};

BoundStep bind_group_norm(const Step& s, const Program&) {
  return [bound = BoundGroupNorm(s)](const Memory& m) { bound.run(m); };
}

void group_norm_fields(StepFields& fields, Step& step) {
  edit_attributes<GroupNorm>(step, [&](GroupNorm& a) {
    fields.integer("groups", a.groups, {1, StepFields::Range().most});
    fields.number("epsilon", a.eps);
  });
}

}  // namespace

const Operator operators::group_norm{.name = "group_norm",
                                     .least_inputs = 1,
                                     .most_inputs = 3,
                                     .optional_inputs = true,
                                     .check = check_group_norm,
                                     .aten = kGroupNormRules,
                                     .lower = lower_group_norm,
                                     .onnx = group_norm_to_onnx};

const StepType steps::group_norm{.name = "group_norm",
                                 .check = check_group_norm_step,
                                 .bind = bind_group_norm,
                                 .cost = group_norm_cost,
                                 .fields = group_norm_fields};

}  // namespace fib::engine
