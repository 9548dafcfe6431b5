// SPDX-License-Identifier: Apache-2.0
#include "patterns/sequences.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace fib {
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

}  // namespace fib
