// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace fib {

/// What computes here: "Intel Xeon …, 2 cores, AVX3 with amx, vnni, bf16".
std::string machine_name();

/// Processes that wanted a core in the last minute, on average; nothing where Linux does not tell.
std::optional<double> load_average();

}  // namespace fib
