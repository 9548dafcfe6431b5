// SPDX-License-Identifier: Apache-2.0
#include "patterns/sequences.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "fibottention/pattern.h"

namespace fib {
namespace {

/// ⌊√x⌋. The double's root is off by at most one where 64 bits do not fit its 53, so it is corrected in integers.
uint64_t integer_sqrt(uint64_t x) {
  constexpr uint64_t kLargestRoot = UINT64_C(4294967295);
  uint64_t r = static_cast<uint64_t>(std::sqrt(static_cast<double>(x)));
  if (r > kLargestRoot) r = kLargestRoot;
  while (r * r > x) --r;
  while (r < kLargestRoot && (r + 1) * (r + 1) <= x) ++r;
  return r;
}

/// xφ = (x + √(5x²)) / 2, and the floor of the root is enough: no integer lies between.
int64_t exact_floor_times_phi(int64_t x) {
  const uint64_t n = static_cast<uint64_t>(x);
  return static_cast<int64_t>((n + integer_sqrt(5 * n * n)) / 2);
}

void check_row(int64_t i) {
  if (i >= 1 && i <= kMaxWythoffRow) return;
  throw std::invalid_argument("Wythoff row must be 1 to " + std::to_string(kMaxWythoffRow) + ", got " +
                              std::to_string(i));
}

}  // namespace

int64_t floor_times_phi(int64_t x) {
  static const int64_t largest = exact_floor_times_phi(kMaxWythoffRow);
  if (x >= 0 && x <= largest) return exact_floor_times_phi(x);
  throw std::invalid_argument("floor_times_phi takes 0 to " + std::to_string(largest) + ", got " + std::to_string(x));
}

SequenceStart wythoff_row(int64_t i) {
  check_row(i);
  const int64_t m = floor_times_phi(i);
  const int64_t a = floor_times_phi(m);
  return {a, a + m};
}

SequenceStart modified_wythoff_row(int64_t i) {
  check_row(i);
  return {i - 1, floor_times_phi(i)};
}

namespace {

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

void check_start(SequenceStart s) {
  if (s.a >= 0 && s.b >= 0 && (s.a > 0 || s.b > 0)) return;
  throw std::invalid_argument("Fib(a, b) needs a, b >= 0 and not both 0, got Fib(" + std::to_string(s.a) + ", " +
                              std::to_string(s.b) + ")");
}

/// value · factor, or the largest integer where that overflows; both positive.
int64_t saturating_times(int64_t value, int64_t factor) {
  return value > kLargest / factor ? kLargest : value * factor;
}

int64_t saturating_power(int64_t base, int exponent) {
  int64_t result = 1;
  for (int e = 0; e < exponent; ++e) result = saturating_times(result, base);
  return result;
}

}  // namespace

std::vector<int64_t> fibonacci_elements(SequenceStart start, int64_t limit) {
  check_start(start);
  std::vector<int64_t> elements;
  const auto keep = [&](int64_t x) {
    if (x > 0 && x <= limit) elements.push_back(x);
  };
  // From the third element on the sequence does not fall, so both above the limit is the end; so is overflow.
  for (int64_t x = start.a, y = start.b; x <= limit || y <= limit;) {
    keep(x);
    if (x > kLargest - y) {
      keep(y);
      break;
    }
    const int64_t next = x + y;
    x = std::exchange(y, next);
  }
  std::sort(elements.begin(), elements.end());
  elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
  return elements;
}

DilationSequence fibonacci_sequence(SequenceStart start) {
  check_start(start);
  return {start.a > 0 ? start.a : start.b, [start](int64_t limit) { return fibonacci_elements(start, limit); }};
}

DilationSequence powers_of(int64_t base) {
  return {1, [base](int64_t limit) {
            std::vector<int64_t> elements;
            for (int64_t p = 1; p <= limit && p < kLargest; p = saturating_times(p, base)) elements.push_back(p);
            return elements;
          }};
}

DilationSequence integers_to_the(int exponent) {
  return {1, [exponent](int64_t limit) {
            std::vector<int64_t> elements;
            for (int64_t n = 1, p = 1; p <= limit && p < kLargest; p = saturating_power(++n, exponent)) {
              elements.push_back(p);
            }
            return elements;
          }};
}

DilationSequence multiples_of(int64_t step) {
  return {step, [step](int64_t limit) {
            std::vector<int64_t> elements;
            elements.reserve(static_cast<size_t>(std::max<int64_t>(limit, 0) / step));
            for (int64_t n = 1; n <= limit / step; ++n) elements.push_back(n * step);
            return elements;
          }};
}

std::vector<int64_t> windowed_offsets(const DilationSequence& sequence, int64_t window, int64_t tokens) {
  std::vector<int64_t> offsets = sequence.elements(std::min(window, tokens - 1));
  if (offsets.empty() && sequence.first < tokens) offsets.push_back(sequence.first);
  return offsets;
}

namespace {

void check_windows(int64_t wmin, int64_t wmax) {
  const std::string received = "got wmin " + std::to_string(wmin) + " and wmax " + std::to_string(wmax);
  if (wmin < 1 || wmax > kMaxTokens) {
    throw std::invalid_argument("windows must be 1 to " + std::to_string(kMaxTokens) + ", " + received);
  }
  if (wmin > wmax) throw std::invalid_argument("wmin must not exceed wmax, " + received);
}

}  // namespace

int64_t head_window(int64_t i, int64_t heads, int64_t wmin, int64_t wmax) {
  check_windows(wmin, wmax);
  if (heads < 1 || i < 1 || i > heads || heads > kMaxWythoffRow) {
    throw std::invalid_argument("head must be 1 to the number of heads, at most " + std::to_string(kMaxWythoffRow) +
                                ", got head " + std::to_string(i) + " of " + std::to_string(heads));
  }
  // A single head is the widest: the paper gives iFormer's one head wmax.
  if (heads == 1) return wmax;
  return wmin + (wmax - wmin) * (i - 1) / (heads - 1);
}

}  // namespace fib
