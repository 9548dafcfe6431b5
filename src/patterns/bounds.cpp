// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "fibottention/pattern.h"

namespace fib {

// Binet's formula (the paper's Lemma 1, Eq. 5) gives element n as ((b - aψ) φ^(n-1) + (aφ - b) ψ^(n-1)) / √5. Solved
// for the last n whose element is at most w, with |ψ| < 1, it is the number of offsets below.
double lemma2_bound(SequenceStart start, int64_t window, int64_t tokens) {
  constexpr double phi = std::numbers::phi, psi = 1.0 - phi;
  const double a = static_cast<double>(start.a), b = static_cast<double>(start.b);
  const double reach = std::sqrt(5.0) * static_cast<double>(window) + std::abs(a * phi - b);
  return 2.0 * static_cast<double>(tokens) * ((std::log(reach) - std::log(b - a * psi)) / std::log(phi) + 1.0);
}

double theorem1_bound(int64_t tokens, int64_t heads, int64_t wmax) {
  const double per_head = 2.08 * std::log((std::sqrt(5.0) + 1.0) * static_cast<double>(wmax)) - 1.0;
  return 2.0 * static_cast<double>(tokens) * static_cast<double>(heads) * per_head;
}

double theorem1_bound_for_any_window(int64_t tokens, int64_t heads) {
  const double n = static_cast<double>(tokens);
  return 4.16 * n * static_cast<double>(heads) * std::log(3.3 * n);
}

// Row i begins with a = i - 1 and b = ⌊iφ⌋, so |aφ - b| <= φ and b - aψ = ⌊iφ⌋ + (i - 1)/φ >= 1: Lemma 2 for every
// head.
double modified_theorem1_bound(int64_t tokens, int64_t heads, int64_t wmax) {
  const double per_head = 2.08 * std::log(std::sqrt(5.0) * static_cast<double>(wmax) + std::numbers::phi) + 1.0;
  return 2.0 * static_cast<double>(tokens) * static_cast<double>(heads) * per_head;
}

}  // namespace fib
