// SPDX-License-Identifier: Apache-2.0
#include "report/machine.h"

#include <cmath>
#include <cstdlib>

namespace fib::report {

nlohmann::ordered_json or_null(std::optional<double> value) {
  return value && std::isfinite(*value) ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

std::optional<double> load_average() {
  double load = 0.0;
  return getloadavg(&load, 1) == 1 ? std::optional(load) : std::nullopt;
}

}  // namespace fib::report
