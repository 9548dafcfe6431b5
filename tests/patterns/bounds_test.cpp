// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "fibottention/pattern.h"

namespace fib {
namespace {

/// |Ω_w^Fib(a,b)| over N tokens, as the paper's equation counts it.
int64_t count_pairs(SequenceStart start, int64_t window, int64_t tokens) {
  int64_t pairs = 0;
  for (int64_t o : fibonacci_elements(start, std::min(window, tokens - 1))) pairs += 2 * (tokens - o);
  return pairs;
}

bool theorem1_assumptions_hold(const PatternGeometry& g, int64_t wmin, int64_t wmax) {
  for (int64_t i = 1; i <= g.heads; ++i) {
    if (wythoff_row(i).b > head_window(i, g.heads, wmin, wmax)) return false;
  }
  return wmax <= g.patches;
}

}  // namespace

TEST(Lemma2, bounds_every_sequence_that_starts_within_its_window) {
  int64_t checked = 0;
  for (int64_t n : {2, 3, 10, 49, 196, 1000}) {
    for (int64_t a = 1; a < std::min<int64_t>(n, 60); ++a) {
      for (int64_t b = a + 1; b <= std::min<int64_t>(n, 90); ++b) {
        for (int64_t w = b; w <= n; w += 1 + n / 50) {
          ASSERT_LE(static_cast<double>(count_pairs({a, b}, w, n)), lemma2_bound({a, b}, w, n))
              << a << " " << b << " " << w;
          ++checked;
        }
      }
    }
  }
  EXPECT_GT(checked, 100000);
}

TEST(Lemma2, bounds_the_rows_of_long_sequences) {
  constexpr int64_t n = 1048576;
  for (int64_t i = 1; i <= 5000; ++i) {
    const SequenceStart row = wythoff_row(i);
    for (int64_t w : {row.b, row.b * 3, n / 3, n}) {
      if (w < row.b) continue;
      ASSERT_LE(static_cast<double>(count_pairs(row, w, n)), lemma2_bound(row, w, n)) << i << " " << w;
    }
  }
}

TEST(Theorem1, bounds_fibottention_where_its_assumptions_hold) {
  int64_t checked = 0;
  for (int64_t n : {10, 49, 196, 784, 4096, 65536}) {
    for (int64_t heads : {1, 2, 3, 4, 6, 8, 12, 16, 32}) {
      for (int64_t wmin : {int64_t{2}, int64_t{5}, int64_t{40}, n / 3, n}) {
        for (int64_t wmax : {n / 10, n / 3, n}) {
          const PatternGeometry g{.patches = n, .cls = 0, .heads = heads};
          if (wmin < 1 || wmin > wmax || !theorem1_assumptions_hold(g, wmin, wmax)) continue;
          const AttentionSpec spec{"fibottention", {{"wmin", std::to_string(wmin)}, {"wmax", std::to_string(wmax)}}};
          const double pairs = static_cast<double>(make_support(spec, g).patch_pairs());
          ASSERT_LE(pairs, theorem1_bound(n, heads, wmax)) << spec.to_string() << " N " << n << " h " << heads;
          ++checked;
        }
      }
    }
  }
  EXPECT_GT(checked, 200);
}

TEST(Theorem1, counts_pairs) {
  EXPECT_NEAR(theorem1_bound(196, 12, 65), 2.0 * 196 * 12 * (2.08 * std::log((std::sqrt(5.0) + 1.0) * 65) - 1), 1e-6);
}

}  // namespace fib
