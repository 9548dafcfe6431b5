// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace fib {

/// What computes here: "Intel Xeon …, 2 cores, AVX3".
std::string machine_name();

}  // namespace fib
