// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear.h"

#include <algorithm>
#include <memory>

#include "base/parallel.h"
#include "kernels/tiles.h"

namespace fib::kernels {
namespace {

const LinearTable& linear_table() { return linear_of_target(chosen_target()); }

std::unique_ptr<float[]> floats(int64_t count) {
  return std::make_unique_for_overwrite<float[]>(static_cast<size_t>(count));
}

int64_t row_tasks(const LinearShape& s) { return (s.rows + kLinearRows - 1) / kLinearRows; }

Buffer<float>& sum_scratch() {
  thread_local Buffer<float> kept;
  return kept;
}

/// How the gradient of the weights is cut, by shape alone: rows of the weights, and where these are few, rows of x too.
struct WeightTasks {
  static constexpr int64_t kFew = 8;
  int64_t blocks, parts;
  explicit WeightTasks(const LinearShape& s)
      : blocks((s.to + kLinearRows - 1) / kLinearRows),
        parts(std::clamp<int64_t>(kFew / blocks, 1, std::max<int64_t>(1, s.rows / kLinearSum))) {}

  WeightPart part(const LinearShape& s, int64_t task, float* dweight, float* dbias) const {
    const int64_t block = task % blocks, share = task / blocks;
    return {block * kLinearRows,
            std::min(s.to, (block + 1) * kLinearRows),
            s.rows * share / parts,
            s.rows * (share + 1) / parts,
            dweight + share * s.to * s.from,
            dbias == nullptr ? nullptr : dbias + share * s.to};
  }
};

/// into = the sum of `parts` arrays, in order.
void add_parts(const float* from, int64_t parts, int64_t count, float* into) {
  constexpr int64_t kPiece = 8192;
  parallel_tasks((count + kPiece - 1) / kPiece, [&](int64_t task) {
    for (int64_t i = task * kPiece; i < std::min(count, (task + 1) * kPiece); ++i) {
      float sum = from[i];
      for (int64_t p = 1; p < parts; ++p) sum += from[p * count + i];
      into[i] = sum;
    }
  });
}

void weight_gradients(const LinearShape& s, const LinearBackward& call, const float* gradient) {
  const LinearTable& table = linear_table();
  const WeightTasks tasks(s);
  const bool alone = tasks.parts == 1;
  const auto parts = floats(alone ? 0 : tasks.parts * s.to * (s.from + 1));
  float* dweight = alone ? call.dweight : parts.get();
  float* dbias = call.dbias == nullptr || alone ? call.dbias : parts.get() + tasks.parts * s.to * s.from;
  parallel_tasks(tasks.blocks * tasks.parts, [&](int64_t task) {
    table.weights(s, call.x, gradient, tasks.part(s, task, dweight, dbias), sum_scratch());
  });
  if (alone) return;
  add_parts(dweight, tasks.parts, s.to * s.from, call.dweight);
  if (dbias != nullptr) add_parts(dbias, tasks.parts, s.to, call.dbias);
}

}  // namespace

bool linear_fits(const LinearShape& s) {
  const int64_t panel = linear_table().panel;
  return s.rows > 0 && s.from > 0 && s.to > 0 && s.from % panel == 0 && s.to % panel == 0;
}

void linear_forward(const LinearShape& s, const LinearForward& call) {
  const LinearTable& table = linear_table();
  const auto packed = floats(s.from * s.to);
  parallel_tasks(s.to / table.panel, [&](int64_t p) { table.pack_outputs(s, call.weight, p, packed.get()); });
  parallel_tasks(row_tasks(s), [&](int64_t task) { table.forward(s, call, packed.get(), task); });
}

void linear_backward(const LinearShape& s, const LinearBackward& call) {
  const LinearTable& table = linear_table();
  const auto own = floats(call.raised == nullptr ? 0 : s.rows * s.to),
             packed = floats(call.dx == nullptr ? 0 : s.from * s.to);
  const float* gradient = call.raised == nullptr ? call.grad_out : own.get();
  if (call.dx != nullptr) {
    parallel_tasks(s.from / table.panel, [&](int64_t p) { table.pack_inputs(s, call.weight, p, packed.get()); });
  }
  parallel_tasks(row_tasks(s), [&](int64_t task) {
    if (call.raised != nullptr) table.gradient(s, call, task, own.get());
    if (call.dx != nullptr) table.inputs(s, gradient, packed.get(), task, call.dx);
  });
  if (call.dweight != nullptr) weight_gradients(s, call, gradient);
}

}  // namespace fib::kernels
