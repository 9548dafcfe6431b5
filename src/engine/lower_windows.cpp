// SPDX-License-Identifier: Apache-2.0
// Convolutions and pools.
#include <fmt/format.h>

#include <stdexcept>

#include "engine/lowerer.h"

namespace fib::engine {
namespace {

/// Images lie in memory as [n,h,w,C]; what others see is [n,C,h,w].
std::vector<int64_t> channels_last(const std::vector<int64_t>& s) { return {s[0], s[2], s[3], s[1]}; }
Operand as_channels_first(const Operand& o) { return permuted(o, {0, 3, 1, 2}); }

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

}  // namespace

void Lowerer::lower_conv(size_t n) {
  const Node& node = graph_.nodes[n];
  const auto& c = node.as<Conv2d>();
  const std::vector<int64_t> w = shape(node.inputs[1]);
  const Operand x = view(node.inputs[0]);
  const bool depthwise = c.groups == x.sizes[1] && w[0] == c.groups && c.groups > 1;
  const Fused fused = depthwise ? Fused{node.output, Function::none, std::nullopt} : fuse_activation(node.output);
  const Operand out = fresh(channels_last(shape(node.output)));
  Step s;
  s.kind = depthwise ? StepKind::depthwise : StepKind::conv2d;
  s.window = {{w[2], w[3]}, c.stride, c.padding, c.groups};
  s.function = fused.function;
  s.at(Role::x) = x, s.at(Role::out) = out;
  const auto weights = value(node.inputs[1]).elements();
  s.at(Role::weights) = floats(name(node.inputs[1]), depthwise ? by_tap(weights, w) : packed_groups(weights, w, c));
  s.at(Role::bias) = bias_of(node);
  add_scratch(s);
  program_.steps.push_back(std::move(s));
  set(fused.output, as_channels_first(out));
}

void Lowerer::lower_pool(const Node& node) {
  const auto& p = node.as<Pool2d>();
  const Operand x = view(node.inputs[0]), out = fresh(channels_last(shape(node.output)));
  Step& s = add_step(StepKind::max_pool2d);
  s.window = {p.kernel, p.stride, p.padding, 1};
  s.at(Role::x) = x, s.at(Role::out) = out;
  set(node.output, as_channels_first(out));
}

}  // namespace fib::engine
