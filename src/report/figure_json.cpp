// SPDX-License-Identifier: Apache-2.0
#include "report/figure_json.h"

#include <cmath>

namespace fib::report {

nlohmann::ordered_json or_null(std::optional<double> value) {
  return value && std::isfinite(*value) ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace fib::report
