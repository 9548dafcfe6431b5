// SPDX-License-Identifier: Apache-2.0
#include "cli/torch/bench_frame.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <thread>

#include "fibottention/attention.h"

namespace fib::cli {

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

ProgressLine::ProgressLine(bool quiet) : visible_(!quiet && isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() {
  if (visible_) fmt::print(stderr, "\r\033[K");
}

void ProgressLine::show(const std::string& what, double done) const {
  if (!visible_) return;
  fmt::print(stderr, "\r\033[K{} {:.0f} %", what, 100.0 * done);
  std::fflush(stderr);
}

}  // namespace fib::cli
