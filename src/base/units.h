// SPDX-License-Identifier: Apache-2.0
// Memory is told in powers of ten everywhere, as disks and papers do: an MB has 10^6 bytes, a GB 10^9.
#pragma once

namespace fib {

constexpr double kMegabyte = 1e6;
constexpr double kGigabyte = 1e9;

}  // namespace fib
