// SPDX-License-Identifier: Apache-2.0
#include "kernels/machine.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <thread>
#include <vector>

#include "base/measure.h"
#include "base/parallel.h"
#include "base/processor.h"
#include "fibottention/attention.h"
#include "kernels/extensions.h"
#include "kernels/tiles.h"
#include "kernels/workspace.h"

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

std::string machine_text(std::string machine) {
  const std::string name = "AVX3";
  const size_t at = machine.find(name);
  if (at == std::string::npos) return machine;
  size_t end = at + name.size();
  while (end < machine.size() && (machine[end] == '_' || std::isalnum(static_cast<unsigned char>(machine[end])))) ++end;
  return machine.replace(at, end - at, "AVX-512");
}

std::optional<double> load_average() {
  double load = 0.0;
  return getloadavg(&load, 1) == 1 ? std::optional(load) : std::nullopt;
}

// ---- What it can compute at most

double kernels::least_seconds(int64_t threads, const std::function<void(int64_t)>& task) {
  constexpr double kSeconds = 0.1;
  double least = std::numeric_limits<double>::infinity();
  with_awake_threads([&] {
    const Stopwatch all;
    while (all.seconds() < kSeconds) {
      const Stopwatch watch;
      parallel_tasks(threads, task);
      least = std::min(least, watch.seconds());
    }
  });
  return least;
}

namespace {

/// From an array of so many bytes for each thread, GB/s of all.
double read_rate(int64_t bytes) {
  constexpr int64_t kBytesATry = int64_t{256} << 20;
  const int64_t threads = omp_get_max_threads(), rounds = 1 + kBytesATry / bytes;
  const int64_t count = bytes / static_cast<int64_t>(sizeof(float)) / kernels::kReadAtOnce * kernels::kReadAtOnce;
  const kernels::ReadFunction read = kernels::peak_of_target(kernels::chosen_target()).read;
  std::vector<kernels::Buffer<float>> arrays(static_cast<size_t>(threads));
  for (auto& array : arrays) std::fill_n(array.ensure(static_cast<size_t>(count)), count, 1.0f);
  std::atomic<float> sum{0};
  const double seconds = kernels::least_seconds(
      threads, [&](int64_t thread) { sum = read(arrays[static_cast<size_t>(thread)].data(), count, rounds); });
  return 1e-9 * sizeof(float) * static_cast<double>(threads * count * rounds) / seconds;
}

/// Billions of operations a second, a product and a sum counting as two.
double multiply_rate(kernels::MultiplyFunction multiply, int64_t rounds) {
  const int64_t threads = omp_get_max_threads();
  std::atomic<int64_t> multiplied{0};
  const double seconds = kernels::least_seconds(threads, [&](int64_t) { multiplied = multiply(rounds); });
  return 2e-9 * static_cast<double>(threads * multiplied.load()) / seconds;
}

template <size_t kWays>
double best_rate(const kernels::PeakWay (&ways)[kWays]) {
  constexpr int64_t kRounds = 100'000;
  size_t i = 0;
  while (ways[i].multiply == nullptr || (ways[i].needs & ~kernels::extensions()) != 0) ++i;
  return multiply_rate(ways[i].multiply, kRounds);
}

const kernels::PeakTable& table() { return kernels::peak_of_target(kernels::chosen_target()); }

}  // namespace

double peak_gflops() { return multiply_rate(table().multiply, 500'000); }
double peak_bfloat16_gflops() {
  // Where pairs of bfloat16 are no faster, products are of float32.
  return std::max(best_rate(table().bfloat16), multiply_rate(table().multiply, 100'000));
}
double peak_int8_gops() { return best_rate(table().int8); }

ReadRates read_rates() { return {read_rate(caches().first / 2), read_rate(caches().second / 2)}; }

}  // namespace fib
