// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation.h"

#include <algorithm>

#include "base/parallel.h"
#include "kernels/tiles.h"

namespace fib::kernels {
namespace {

/// Numbers per task: three arrays of them stay in the second-level cache.
constexpr int64_t kPiece = 16384;

/// `work(first, count)` for every piece.
template <class Work>
void in_pieces(int64_t count, const Work& work) {
  parallel_tasks((count + kPiece - 1) / kPiece, [&](int64_t task) {
    const int64_t first = task * kPiece;
    work(first, std::min(kPiece, count - first));
  });
}

}  // namespace

void mish_forward(const float* x, int64_t count, float* out) {
  const MishTable& table = mish_of_target(chosen_target());
  in_pieces(count, [&](int64_t first, int64_t n) { table.forward(x + first, n, out + first); });
}

void mish_backward(const float* x, const float* grad_out, int64_t count, float* dx) {
  const MishTable& table = mish_of_target(chosen_target());
  in_pieces(count, [&](int64_t first, int64_t n) { table.backward(x + first, grad_out + first, n, dx + first); });
}

}  // namespace fib::kernels
