// SPDX-License-Identifier: Apache-2.0
#include "kernels/decode.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.h"

namespace fib::kernels {
namespace {

/// Below so many keys in all, waking a thread costs more than it brings.
constexpr int64_t kKeysWorthThreads = 4096;

float dot(const float* a, const float* b, int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

void add_scaled(float* out, float factor, const float* x, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] += factor * x[i];
}

/// Scores of the keys in `row_of(0)`, …, `row_of(count - 1)`, their softmax, and the values' mean by it.
template <class RowOf>
void attend(const DecodeStep& s, int64_t head, int64_t count, const RowOf& row_of) {
  thread_local std::vector<float> weights;
  weights.resize(static_cast<size_t>(std::max<int64_t>(count, 1)));
  const float* const keys = s.k + head * s.rows * s.dim;
  const float* const values = s.v + head * s.rows * s.dim;
  const float* const query = s.q + head * s.dim;
  float* const out = s.out + head * s.dim;
  std::fill_n(out, s.dim, 0.0F);
  float largest = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < count; ++i) {
    weights[static_cast<size_t>(i)] = s.scale * dot(query, keys + row_of(i) * s.dim, s.dim);
    largest = std::max(largest, weights[static_cast<size_t>(i)]);
  }
  double sum = 0;  // of up to millions of weights
  for (int64_t i = 0; i < count; ++i) {
    const float weight = std::exp(weights[static_cast<size_t>(i)] - largest);
    sum += static_cast<double>(weight);
    add_scaled(out, weight, values + row_of(i) * s.dim, s.dim);
  }
  const auto factor = static_cast<float>(count > 0 ? 1 / sum : 0);
  for (int64_t c = 0; c < s.dim; ++c) out[c] *= factor;
}

template <class Body>
void for_heads(int64_t heads, int64_t keys, const Body& body) {
  if (keys >= kKeysWorthThreads) return parallel_tasks(heads, body);
  for (int64_t h = 0; h < heads; ++h) body(h);
}

}  // namespace

void decode_at_distances(const DecodeStep& s, std::span<const std::vector<int64_t>> distances) {
  int64_t keys = 0;
  for (const auto& head : distances) keys += static_cast<int64_t>(head.size());
  const int64_t own = s.position % s.rows;
  for_heads(s.heads, keys, [&](int64_t h) {
    const std::vector<int64_t>& head = distances[static_cast<size_t>(h)];
    const auto end = std::upper_bound(head.begin(), head.end(), s.position);
    attend(s, h, end - head.begin(), [&](int64_t i) {
      const int64_t row = own - head[static_cast<size_t>(i)];
      return row < 0 ? row + s.rows : row;
    });
  });
}

/// Rows in the order of memory, whatever positions they hold: a softmax knows no order.
void decode_everything(const DecodeStep& s) {
  const int64_t count = std::min(s.position + 1, s.rows);
  for_heads(s.heads, s.heads * count, [&](int64_t h) { attend(s, h, count, [](int64_t i) { return i; }); });
}

void rotary_angles(int64_t position, int64_t dim, double base, std::span<float> cos_sin) {
  for (int64_t c = 0; c < dim / 2; ++c) {
    // In float64, since a million places turn far.
    const double angle =
        static_cast<double>(position) * std::pow(base, -2.0 * static_cast<double>(c) / static_cast<double>(dim));
    cos_sin[static_cast<size_t>(2 * c)] = static_cast<float>(std::cos(angle));
    cos_sin[static_cast<size_t>(2 * c + 1)] = static_cast<float>(std::sin(angle));
  }
}

void turn(float* row, std::span<const float> cos_sin) {
  const auto half = static_cast<int64_t>(cos_sin.size() / 2);
  for (int64_t c = 0; c < half; ++c) {
    const float cos = cos_sin[static_cast<size_t>(2 * c)], sin = cos_sin[static_cast<size_t>(2 * c + 1)];
    const float first = row[c], second = row[c + half];
    row[c] = first * cos - second * sin;
    row[c + half] = second * cos + first * sin;
  }
}

void decode_tokens(const DecodeTokens& call, std::span<const std::vector<int64_t>> distances) {
  std::vector<float> q(static_cast<size_t>(call.heads * call.dim)), out(q.size());
  std::vector<float> cos_sin(call.rotary_base > 0 ? static_cast<size_t>(call.dim / 2 * 2) : 0);
  for (int64_t t = 0; t < call.tokens; ++t) {
    const int64_t position = call.position + t, row = position % call.rows;
    if (!cos_sin.empty()) rotary_angles(position, call.dim, call.rotary_base, cos_sin);
    for (int64_t h = 0; h < call.heads; ++h) {
      float* const key = call.keys + (h * call.rows + row) * call.dim;
      std::copy_n(call.q.row(t, h), call.dim, q.data() + h * call.dim);
      std::copy_n(call.k.row(t, h), call.dim, key);
      std::copy_n(call.v.row(t, h), call.dim, call.values + (h * call.rows + row) * call.dim);
      if (cos_sin.empty()) continue;
      turn(q.data() + h * call.dim, cos_sin);
      turn(key, cos_sin);
    }
    const DecodeStep step{call.heads, call.rows, call.dim,    position,  call.scale,
                          q.data(),   call.keys, call.values, out.data()};
    distances.empty() ? decode_everything(step) : decode_at_distances(step, distances);
    for (int64_t h = 0; h < call.heads; ++h) std::copy_n(out.data() + h * call.dim, call.dim, call.out.row(t, h));
  }
}

}  // namespace fib::kernels
