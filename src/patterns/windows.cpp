// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <string>

#include "fibottention/pattern.h"

namespace fib {
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
