// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

namespace fib::report {

/// A figure, or null where there is none.
nlohmann::ordered_json or_null(std::optional<double> value);

}  // namespace fib::report
