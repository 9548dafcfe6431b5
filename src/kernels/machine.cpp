// SPDX-License-Identifier: Apache-2.0
#include "kernels/machine.h"

#include <cstdlib>
#include <fstream>
#include <thread>

#include "fibottention/attention.h"
#include "kernels/extensions.h"

namespace fib {
namespace {

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

}  // namespace

std::string machine_name() {
  std::string name =
      processor_name() + ", " + std::to_string(std::thread::hardware_concurrency()) + " cores, " + simd_target();
  const char* between = " with ";
  for (const std::string& extension : kernels::extension_names(kernels::extensions())) {
    name += between + extension;
    between = ", ";
  }
  return name;
}

std::optional<double> load_average() {
  double load = 0.0;
  return getloadavg(&load, 1) == 1 ? std::optional(load) : std::nullopt;
}

}  // namespace fib
