// SPDX-License-Identifier: Apache-2.0
// What all benchmarks say beside their figures: where they ran.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace fib::report {

/// Processes that wanted a core in the last minute, on average; nothing where Linux does not tell.
std::optional<double> load_average();

/// A figure, or null where there is none.
nlohmann::ordered_json or_null(std::optional<double> value);

}  // namespace fib::report
