// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>

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

constexpr double kPhi = std::numbers::phi, kPsi = 1.0 - std::numbers::phi;
const double kRoot5 = std::sqrt(5.0);

/// f_1 … f_count of Fib(a, b) by the recurrence, Eq. 2.
std::vector<int64_t> first_elements(SequenceStart start, size_t count) {
  std::vector<int64_t> f = {start.a, start.b};
  while (f.size() < count) f.push_back(f[f.size() - 1] + f[f.size() - 2]);
  return f;
}

/// Every Fib(a, b) of the tests of the theory, the paper's Fib(1, 1) and Fib(0, 1) among them.
std::vector<SequenceStart> starts() {
  std::vector<SequenceStart> list;
  for (int64_t a = 0; a <= 40; ++a)
    for (int64_t b = 1; b <= 60; ++b) list.push_back({a, b});
  return list;
}

}  // namespace

TEST(Equation4, binet_gives_every_element_from_the_first) {
  for (const auto& [a, b] : starts()) {
    const auto f = first_elements({a, b}, 40);
    for (size_t n = 1; n <= f.size(); ++n) {
      const double x = static_cast<double>(a), d = static_cast<double>(b - a), p = static_cast<double>(n);
      const double binet = ((x - d * kPsi) * std::pow(kPhi, p) + (d * kPhi - x) * std::pow(kPsi, p)) / kRoot5;
      ASSERT_EQ(std::llround(binet), f[n - 1]) << a << " " << b << " " << n;
    }
  }
}

TEST(Equation5, binet_shifted_by_one_gives_the_same_elements) {
  for (const auto& [a, b] : starts()) {
    const auto f = first_elements({a, b}, 40);
    for (size_t n = 2; n <= f.size(); ++n) {
      const double x = static_cast<double>(a), y = static_cast<double>(b), p = static_cast<double>(n - 1);
      const double binet = ((y - x * kPsi) * std::pow(kPhi, p) + (x * kPhi - y) * std::pow(kPsi, p)) / kRoot5;
      ASSERT_EQ(std::llround(binet), f[n - 1]) << a << " " << b << " " << n;
    }
  }
}

TEST(Equation5, for_fib_0_1_is_the_formula_that_the_paper_also_prints_for_fib_1_1) {
  const auto classic = [](size_t n) {
    const double p = static_cast<double>(n - 1);
    return std::llround((std::pow(kPhi, p) - std::pow(kPsi, p)) / kRoot5);
  };
  const auto from_zero = first_elements({0, 1}, 30), from_one = first_elements({1, 1}, 30);
  for (size_t n = 1; n < 30; ++n) {
    EXPECT_EQ(classic(n), from_zero[n - 1]);
    EXPECT_EQ(classic(n + 1), from_one[n - 1]);  // one place later than the appendix has it
  }
}

TEST(Equation6, has_the_golden_ratio_and_its_conjugate_as_roots) {
  for (double x : {kPhi, kPsi}) EXPECT_NEAR(x * x - x - 1.0, 0.0, 1e-15);
  EXPECT_NEAR(kPhi - kPsi, kRoot5, 1e-15);
}

TEST(Equation7, sums_of_elements_are_an_element_less_the_second) {
  for (const SequenceStart& start : starts()) {
    const auto f = first_elements(start, 42);
    for (size_t d = 1; d <= 40; ++d)
      ASSERT_EQ(std::accumulate(f.begin(), f.begin() + static_cast<int64_t>(d), INT64_C(0)) + f[1], f[d + 1]);
  }
}

TEST(Equation8, counts_the_pairs_of_a_head_and_bounds_them) {
  for (int64_t n : {49, 196, 1000}) {
    for (const auto& [a, b] : starts()) {
      if (a < 1 || a >= b) continue;  // the lemma takes a < b; equal elements would be one offset
      for (int64_t w = b; w < n; w += 1 + n / 20) {
        const auto d = static_cast<int64_t>(fibonacci_elements({a, b}, w).size());
        const int64_t after_next = first_elements({a, b}, static_cast<size_t>(d) + 2).back();
        ASSERT_EQ(count_pairs({a, b}, w, n), 2 * d * n - 2 * (after_next - b)) << a << " " << b << " " << w;
        ASSERT_LT(count_pairs({a, b}, w, n), 2 * d * n - 2 * w + 2 * b) << a << " " << b << " " << w;
      }
    }
  }
}

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
          ASSERT_LE(theorem1_bound(n, heads, wmax), theorem1_bound_for_any_window(n, heads)) << n << " " << wmax;
          ++checked;
        }
      }
    }
  }
  EXPECT_GT(checked, 200);
}

TEST(Theorem1, second_bound_holds_for_every_window_up_to_the_tokens) {
  for (int64_t n : {1, 2, 49, 196, 4096, 1048576})
    for (int64_t wmax : {int64_t{1}, n / 3 + 1, n})
      EXPECT_LE(theorem1_bound(n, 12, wmax), theorem1_bound_for_any_window(n, 12)) << n << " " << wmax;
}

TEST(Theorem1, counts_pairs) {
  EXPECT_NEAR(theorem1_bound_for_any_window(196, 12), 4.16 * 196 * 12 * std::log(3.3 * 196), 1e-6);
  EXPECT_NEAR(theorem1_bound(196, 12, 65), 2.0 * 196 * 12 * (2.08 * std::log((std::sqrt(5.0) + 1.0) * 65) - 1), 1e-6);
}

/// Row i of the modified array: i - 1, ⌊iφ⌋, … Equal elements and 0 only make the bound looser.
TEST(Lemma2, bounds_the_rows_of_the_modified_array) {
  for (int64_t n : {3, 49, 196, 4096, 1048576}) {
    for (int64_t i = 1; i <= 2000; ++i) {
      const SequenceStart row = modified_wythoff_row(i);
      for (int64_t w : {row.b, row.b * 3, n / 3, n}) {
        if (w < row.b || w > n) continue;
        ASSERT_LE(static_cast<double>(count_pairs(row, w, n)), lemma2_bound(row, w, n)) << i << " " << w << " " << n;
      }
    }
  }
}

TEST(ModifiedTheorem1, is_above_the_lemma_of_every_head_and_so_above_the_pairs) {
  int64_t checked = 0;
  for (int64_t n : {10, 49, 196, 784, 4096, 65536}) {
    for (int64_t heads : {1, 2, 3, 4, 6, 8, 12, 16, 32}) {
      for (int64_t wmax : {n / 10, n / 3, n}) {
        for (int64_t wmin : {int64_t{1}, int64_t{5}, wmax}) {
          double lemma = 0;
          bool assumed = wmin >= 1 && wmin <= wmax;
          for (int64_t i = 1; assumed && i <= heads; ++i) {
            const int64_t w = head_window(i, heads, wmin, wmax);
            assumed = modified_wythoff_row(i).b <= w;
            lemma += lemma2_bound(modified_wythoff_row(i), w, n);
          }
          if (!assumed) continue;
          const AttentionSpec spec{"fibottention-modified",
                                   {{"wmin", std::to_string(wmin)}, {"wmax", std::to_string(wmax)}}};
          const SupportSet s = make_support(spec, {.patches = n, .cls = 0, .heads = heads});
          ASSERT_LE(static_cast<double>(s.patch_pairs()), lemma) << spec.to_string() << " N " << n << " h " << heads;
          ASSERT_LE(lemma, modified_theorem1_bound(n, heads, wmax)) << spec.to_string() << " N " << n;
          ASSERT_LE(modified_theorem1_bound(n, heads, wmax), modified_theorem1_bound(n, heads, n));
          ++checked;
        }
      }
    }
  }
  EXPECT_GT(checked, 150);
}

}  // namespace fib
