// SPDX-License-Identifier: Apache-2.0
// One step back of a diffusion process that predicts noise, element by element. With ε the predicted and z the fresh
// noise, and the coefficients signal, noise, clean, sample, predicted and fresh:
//   x̂₀  = clamp((x − noise · ε) / signal, −1, 1)
//   out = clean · x̂₀ + sample · x + predicted · ε + fresh · z
#include <algorithm>
#include <stdexcept>

#include "engine/lowerer.h"
#include "engine/node_checker.h"
#include "engine/onnx_node.h"
#include "engine/step_checker.h"
#include "engine/strided.h"

namespace fib::engine {
namespace {

constexpr int64_t kCoefficients = 6;

void check_denoise(const NodeChecker& n) {
  n.require(n.in(0) == n.in(1) && n.in(2) == Shape{Dim{kCoefficients}} && (!n.has(3) || n.in(3) == n.in(0)),
            "they do not fit");
  n.require_same_shape();
}

void lower_denoise(Lowerer& l, size_t n) {
  const Node& node = l.node(n);
  const Operand x = l.view(node.inputs[0]), out = l.fresh(x.sizes);
  Step& s = l.add_step(StepKind::denoise);
  s.at(Role::x) = x, s.at(Role::y) = l.view(node.inputs[1]), s.at(Role::weights) = l.view(node.inputs[2]);
  if (node.inputs.size() > 3 && node.inputs[3] != kNoValue) s.at(Role::residual) = l.view(node.inputs[3]);
  s.at(Role::out) = out;
  l.set(node.output, out);
}

void check_denoise_step(const StepChecker& s) {
  s.need({Role::x, Role::y, Role::weights});
  s.same_sizes(Role::x, Role::out), s.same_sizes(Role::y, Role::out);
  if (s.step().has(Role::residual)) s.same_sizes(Role::residual, Role::out);
  s.require(s.buffer(Role::weights).type == TensorType::f32, "its coefficients are not float32");
  s.whole(Role::weights, kCoefficients);
}

BoundStep bind_denoise(const Step& s, const Program&) {
  const Operand& fresh = s.has(Role::residual) ? s.at(Role::residual) : s.at(Role::x);
  return [&s, &fresh, loop = Loop<4>({&s.at(Role::out), &s.at(Role::x), &s.at(Role::y), &fresh})](const Memory& m) {
    const float *x = m.floats(s.at(Role::x)), *noise = m.floats(s.at(Role::y)), *z = m.floats(fresh);
    float* const out = m.floats(s.at(Role::out));
    const float* k = m.floats(s.at(Role::weights));
    const bool adds = s.has(Role::residual);
    loop.run([&](const auto& at, const auto& step, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        const float now = x[at[1] + i * step[1]], predicted = noise[at[2] + i * step[2]];
        const float clean = std::clamp((now - k[1] * predicted) / k[0], -1.0F, 1.0F);
        const float mean = k[2] * clean + k[3] * now + k[4] * predicted;
        out[at[0] + i * step[0]] = adds ? mean + k[5] * z[at[3] + i * step[3]] : mean;
      }
    });
  };
}

}  // namespace

const Operator operators::denoise{
    .name = "denoise",
    .least_inputs = 3,
    .most_inputs = 4,
    .optional_inputs = true,
    .check = check_denoise,
    .aten = {},
    .lower = lower_denoise,
    .onnx = [](OnnxNode&) -> OnnxName { throw std::runtime_error("a policy's loop cannot be written as ONNX"); }};

const StepType steps::denoise{
    .name = "denoise", .check = check_denoise_step, .bind = bind_denoise, .cost = cost_of_output};

}  // namespace fib::engine
