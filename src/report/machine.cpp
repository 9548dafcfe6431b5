// SPDX-License-Identifier: Apache-2.0
#include "report/machine.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "fibottention/attention.h"

namespace fib::report {

nlohmann::ordered_json or_null(std::optional<double> value) {
  return value && std::isfinite(*value) ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

std::string machine_name() {
  std::ifstream info("/proc/cpuinfo");
  std::string line, model = "unknown processor";
  while (std::getline(info, line)) {
    if (line.starts_with("model name")) {
      model = line.substr(line.find(':') + 2);
      break;
    }
  }
  return fmt::format("{}, {} cores, {}", model, std::thread::hardware_concurrency(), simd_target());
}

std::optional<double> load_average() {
  double load = 0.0;
  return getloadavg(&load, 1) == 1 ? std::optional(load) : std::nullopt;
}

}  // namespace fib::report
