// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear_bf16.h"

#include <algorithm>
#include <memory>

#include "base/parallel.h"
#include "kernels/extensions.h"
#include "kernels/tiles.h"

namespace fib::kernels {
namespace {

const Bf16Table& bf16_table() { return linear_bf16_of_target(chosen_target()); }

std::unique_ptr<Bf16Pair[]> pairs_of(int64_t count) {
  return std::make_unique_for_overwrite<Bf16Pair[]>(static_cast<size_t>(count));
}

int64_t halved(int64_t depth) { return (depth + 1) / 2; }

/// Columns in panels of two vectors, or three where one would be left alone.
class Panels {
 public:
  explicit Panels(int64_t width) : vectors_(width / bf16_table().lanes), count_(std::max<int64_t>(1, vectors_ / 2)) {}
  int64_t count() const { return count_; }
  int64_t begin(int64_t panel) const { return vectors_ * panel / count_ * bf16_table().lanes; }
  int64_t columns(int64_t panel) const { return begin(panel + 1) - begin(panel); }

 private:
  int64_t vectors_, count_;
};

/// Rows of a task: as many as stay in the second-level cache with what they are multiplied by, fewer where that would
/// leave threads without work. No sum changes its order with it.
int64_t rows_per_task(int64_t rows) {
  constexpr int64_t kMost = 96, kLeast = 16, kTasksPerThread = 4;
  const int64_t wanted = rows / (kTasksPerThread * parallel_threads());
  return std::clamp<int64_t>(wanted / kLeast * kLeast, kLeast, kMost);
}

/// Pairs of the depth at a time: a panel's part of them, 64 KB, and those of 96 rows stay in the second-level cache.
constexpr int64_t kPairsAtOnce = 512;

/// The product of `rows` rows with all panels, which lie one behind the other.
struct AllPanels {
  Bf16Product product;  ///< without panel, columns and part of the depth
  const Bf16Pair* panels;
  int64_t width;
};

void multiply_all(const AllPanels& all) {
  const Bf16Table& table = bf16_table();
  const Panels panels(all.width);
  const bool emulate = (extensions() & kAvx512Bf16) == 0;
  for (int64_t first = 0; first < all.product.pairs; first += kPairsAtOnce) {
    for (int64_t p = 0; p < panels.count(); ++p) {
      Bf16Product part = all.product;
      part.pairs = std::min(kPairsAtOnce, all.product.pairs - first);
      part.a += first * part.a_pair;
      part.panel = all.panels + panels.begin(p) * all.product.pairs + first * panels.columns(p);
      part.c += panels.begin(p);
      if (part.start != nullptr) part.start += panels.begin(p);
      part.begins = first == 0;
      table.multiply(part, panels.columns(p) / table.lanes, emulate);
    }
  }
}

/// weight [N,K] in panels of N, pairs along K.
std::unique_ptr<Bf16Pair[]> packed_outputs(const LinearShape& s, const float* weight) {
  const Panels panels(s.to);
  const int64_t pairs = halved(s.from);
  auto packed = pairs_of(s.to * pairs);
  parallel_tasks(panels.count(), [&](int64_t p) {
    const auto row = pairs_of(pairs);
    Bf16Pair* const into = packed.get() + panels.begin(p) * pairs;
    for (int64_t c = 0; c < panels.columns(p); ++c) {
      bf16_table().along_rows({weight + (panels.begin(p) + c) * s.from, nullptr, s.from}, 1, s.from, row.get());
      for (int64_t k = 0; k < pairs; ++k) into[k * panels.columns(p) + c] = row[k];
    }
  });
  return packed;
}

/// values [depth, width] in panels of the width, pairs of rows.
std::unique_ptr<Bf16Pair[]> packed_rows(const float* values, int64_t depth, int64_t width) {
  const Panels panels(width);
  auto packed = pairs_of(width * halved(depth));
  parallel_tasks(panels.count(), [&](int64_t p) {
    bf16_table().across_rows({values + panels.begin(p), nullptr, width}, depth, panels.columns(p),
                             packed.get() + panels.begin(p) * halved(depth), nullptr);
  });
  return packed;
}

template <class Visit>
void for_rows(int64_t rows, const Visit& visit) {
  const int64_t step = rows_per_task(rows);
  parallel_tasks((rows + step - 1) / step,
                 [&](int64_t task) { visit(task * step, std::min(rows, (task + 1) * step)); });
}

/// out [rows, width] = source [rows, depth] · panels + start.
void multiply_rows(const Bf16Source& source, int64_t rows, int64_t depth, const Bf16Pair* panels, int64_t width,
                   const float* start, float* out) {
  const int64_t pairs = halved(depth);
  const auto a = pairs_of(rows * pairs);
  bf16_table().along_rows(source, rows, depth, a.get());
  multiply_all({{rows, pairs, a.get(), pairs, 1, nullptr, out, width, true, start}, panels, width});
}

void input_gradients(const LinearShape& s, const LinearBackward& call) {
  const auto packed = packed_rows(call.weight, s.to, s.from);
  for_rows(s.rows, [&](int64_t begin, int64_t end) {
    const float* derivative = call.derivative == nullptr ? nullptr : call.derivative + begin * s.to;
    multiply_rows({call.grad_out + begin * s.to, derivative, s.to}, end - begin, s.to, packed.get(), s.from, nullptr,
                  call.dx + begin * s.from);
  });
}

void weight_gradients(const LinearShape& s, const LinearBackward& call) {
  const int64_t pairs = halved(s.rows);
  const auto packed = packed_rows(call.x, s.rows, s.from);
  for_rows(s.to, [&](int64_t begin, int64_t end) {
    const int64_t count = end - begin;
    const auto a = pairs_of(pairs * count);
    bf16_table().across_rows(
        {call.grad_out + begin, call.derivative == nullptr ? nullptr : call.derivative + begin, s.to}, s.rows, count,
        a.get(), call.dbias == nullptr ? nullptr : call.dbias + begin);
    multiply_all({{count, pairs, a.get(), 1, count, nullptr, call.dweight + begin * s.from, s.from, true, nullptr},
                  packed.get(),
                  s.from});
  });
}

}  // namespace

void linear_bf16_forward(const LinearShape& s, const LinearForward& call) {
  const auto packed = packed_outputs(s, call.weight);
  for_rows(s.rows, [&](int64_t begin, int64_t end) {
    float* const out = call.out + begin * s.to;
    multiply_rows({call.x + begin * s.from, nullptr, s.from}, end - begin, s.from, packed.get(), s.to, call.bias, out);
    if (call.derivative != nullptr) bf16_table().gelu((end - begin) * s.to, out, call.derivative + begin * s.to);
  });
}

void linear_bf16_backward(const LinearShape& s, const LinearBackward& call) {
  if (call.dx != nullptr) input_gradients(s, call);
  if (call.dweight != nullptr) weight_gradients(s, call);
}

}  // namespace fib::kernels
