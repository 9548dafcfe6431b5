// SPDX-License-Identifier: Apache-2.0
// Time and memory. Memory is told in powers of ten everywhere, as disks and papers do: an MB has 10^6 bytes, a GB 10^9.
#pragma once

#include <chrono>

namespace fib {

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

constexpr double kMegabyte = 1e6;
constexpr double kGigabyte = 1e9;

}  // namespace fib
