// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear.h"

#include <algorithm>
#include <memory>

#include "base/parallel.h"
#include "base/processor.h"
#include "kernels/tiles.h"

namespace fib::kernels {
namespace {

const LinearTable& linear_table() { return linear_of_target(chosen_target()); }

std::unique_ptr<float[]> floats(int64_t count) {
  return std::make_unique_for_overwrite<float[]>(static_cast<size_t>(count));
}

int64_t row_tasks(const LinearShape& s) { return (s.rows + kLinearRows - 1) / kLinearRows; }

Buffer<float>& linear_scratch() {
  thread_local Buffer<float> kept;
  return kept;
}

/// Rows whose share of the weights' gradient is summed at once, by the second-level cache: of 1 MB 256, or together
/// with the gradient of the inputs 192. With 384 channels their gradient, 307 KB, the weights and theirs are then two
/// thirds of it. No sum changes its order with it.
int64_t rows_at_once(bool together) {
  constexpr int64_t kMegabyte = 1 << 20;
  return std::max<int64_t>(48, caches().second * (together ? 192 : 256) / kMegabyte);
}

/// How the gradients are cut, by shape alone and not by this machine: the bits of a sum depend on its parts. Weights
/// that leave the second-level cache to others are one block, and their tasks compute the gradient of the inputs too:
/// what came from behind is then read once. Others are cut by their rows and, where these are few, by rows of x too.
struct WeightTasks {
  static constexpr int64_t kSmall = 256 * 1024 / sizeof(float), kFew = 8;
  static constexpr int64_t kPartRows = 256, kSmallPartRows = 768;  ///< a part has at least so many, or is the only one
  bool small;
  int64_t blocks, parts;
  explicit WeightTasks(const LinearShape& s)
      : small(s.to * s.from <= kSmall), blocks(small ? 1 : (s.to + kLinearRows - 1) / kLinearRows) {
    const int64_t wanted = small ? s.rows / kSmallPartRows : std::min(kFew / blocks, s.rows / kPartRows);
    parts = std::clamp<int64_t>(wanted, 1, 64);
  }

  WeightPart part(const LinearShape& s, int64_t task, float* dweight, float* dbias) const {
    const int64_t block = task % blocks, share = task / blocks;
    return {small ? 0 : block * kLinearRows,
            small ? s.to : std::min(s.to, (block + 1) * kLinearRows),
            s.rows * share / parts,
            s.rows * (share + 1) / parts,
            rows_at_once(small),
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

void weight_gradients(const LinearShape& s, const LinearBackward& call, const WeightTasks& tasks, const float* packed) {
  const LinearTable& table = linear_table();
  const bool alone = tasks.parts == 1;
  const auto parts = floats(alone ? 0 : tasks.parts * s.to * (s.from + 1));
  float* dweight = alone ? call.dweight : parts.get();
  float* dbias = call.dbias == nullptr || alone ? call.dbias : parts.get() + tasks.parts * s.to * s.from;
  parallel_tasks(tasks.blocks * tasks.parts, [&](int64_t task) {
    table.weights(s, call, packed, tasks.part(s, task, dweight, dbias), linear_scratch());
  });
  if (alone) return;
  add_parts(dweight, tasks.parts, s.to * s.from, call.dweight);
  if (dbias != nullptr) add_parts(dbias, tasks.parts, s.to, call.dbias);
}

}  // namespace

bool linear_fits(const LinearShape& s) {
  const int64_t lanes = linear_table().lanes;
  return s.rows > 0 && s.from > 0 && s.to > 0 && s.from % lanes == 0 && s.to % lanes == 0;
}

void linear_forward(const LinearShape& s, const LinearForward& call) {
  const LinearTable& table = linear_table();
  const auto packed = floats(s.from * s.to);
  parallel_tasks(table.panels(s.to), [&](int64_t p) { table.pack_outputs(s, call.weight, p, packed.get()); });
  parallel_tasks(row_tasks(s), [&](int64_t task) { table.forward(s, call, packed.get(), task); });
}

void linear_backward(const LinearShape& s, const LinearBackward& call) {
  const LinearTable& table = linear_table();
  const WeightTasks tasks(s);
  const bool together = tasks.small && call.dweight != nullptr;
  const auto packed = floats(call.dx == nullptr ? 0 : s.from * s.to),
             own = floats(together || call.derivative == nullptr ? 0 : s.rows * s.to);
  const float* panels = call.dx == nullptr ? nullptr : packed.get();
  if (call.dx != nullptr) {
    parallel_tasks(table.panels(s.from), [&](int64_t p) { table.pack_inputs(s, call.weight, p, packed.get()); });
  }
  if (together) return weight_gradients(s, call, tasks, panels);
  LinearBackward rest = call;
  if (call.derivative != nullptr) rest.grad_out = own.get(), rest.derivative = nullptr;
  parallel_tasks(row_tasks(s), [&](int64_t task) { table.inputs(s, call, panels, task, own.get()); });
  if (call.dweight != nullptr) weight_gradients(s, rest, tasks, nullptr);
}

}  // namespace fib::kernels
