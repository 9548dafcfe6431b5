// SPDX-License-Identifier: Apache-2.0
// Fetching ahead what hardware cannot foresee: rows that lie kilobytes apart, as in a packed qkv, each on its own page.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/call.h"

namespace fib::kernels {

/// Whether rows lie so far apart that reading on to the next line does not lead to the next row.
inline bool far_apart(int64_t stride, int64_t channels) { return stride >= 2 * channels || stride <= -2 * channels; }

/// The rows that the next block will be the first to touch, fetched into L2 while the current one computes.
class NextRows {
 public:
  void clear() {
    runs_.clear();
    most_rows_ = 0;
  }

  /// Rows [token, token + rows) of (b, h); beyond the last token, the first rows of the next head.
  template <class T>
  void add(const TokenView<T>& view, const AttentionShape& shape, TileIndex at, int64_t token, int64_t rows,
           int64_t tokens, int64_t channels) {
    if (!far_apart(view.token_stride, channels)) return;
    if (token >= tokens) {
      token -= tokens;
      if (++at.h == shape.heads) at.h = 0, ++at.b;
      if (at.b == shape.batch || token >= tokens) return;
    }
    add_rows(Rows<T>{view.row(at.b, at.h, 0), view.token_stride}, token, std::min(rows, tokens - token), channels);
  }

  /// Rows [token, token + count), wherever they lie.
  template <class T>
  void add_rows(const Rows<T>& rows, int64_t token, int64_t count, int64_t channels) {
    constexpr int64_t kBytes = sizeof(T);
    runs_.push_back({reinterpret_cast<const char*>(rows.row(token)), rows.stride * kBytes, channels * kBytes, count});
    most_rows_ = std::max(most_rows_, count);
  }

  /// Parts [begin, end) of n of all rows.
  void fetch(size_t begin, size_t end, size_t n) const {
    if (runs_.empty()) return;
    const auto rows_before = [&](size_t part) {
      return most_rows_ * static_cast<int64_t>(part) / static_cast<int64_t>(n);
    };
    const int64_t from = rows_before(begin), to = rows_before(end);
    for (const Run& run : runs_) {
      for (int64_t row = from; row < std::min(to, run.rows); ++row) {
        const char* at = run.data + row * run.stride;
        for (int64_t byte = 0; byte < run.bytes; byte += kLine) __builtin_prefetch(at + byte, 0, 2);
      }
    }
  }

 private:
  static constexpr int64_t kLine = 64;
  struct Run {
    const char* data;
    int64_t stride, bytes, rows;
  };
  std::vector<Run> runs_;
  int64_t most_rows_ = 0;
};

}  // namespace fib::kernels
