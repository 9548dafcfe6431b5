// SPDX-License-Identifier: Apache-2.0
#include "bench/memory.h"

#include <malloc.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace fib::bench {
namespace {

constexpr int64_t kUnknown = -1;

/// The value of a line "key:   123 kB", in bytes.
int64_t read_kilobytes(const char* file, const std::string& key) {
  std::ifstream in(file);
  std::string word;
  while (in >> word) {
    if (int64_t value; word == key && in >> value) return value * 1024;
  }
  return kUnknown;
}

/// A file with a single number; kUnknown when it is absent or says "max".
int64_t read_number(const char* file) {
  std::ifstream in(file);
  int64_t value;
  return in >> value ? value : kUnknown;
}

int64_t control_group_room() {
  const int64_t limit = read_number("/sys/fs/cgroup/memory.max");
  const int64_t used = read_number("/sys/fs/cgroup/memory.current");
  return limit == kUnknown || used == kUnknown ? std::numeric_limits<int64_t>::max()
                                               : std::max<int64_t>(0, limit - used);
}

/// Writing 5 sets the peak of resident memory back to what it is now.
bool reset_peak() {
  std::ofstream out("/proc/self/clear_refs");
  out << 5 << std::flush;
  return out.good();
}

}  // namespace

int64_t available_memory() { return std::min(read_kilobytes("/proc/meminfo", "MemAvailable:"), control_group_room()); }

int64_t resident_memory() { return read_kilobytes("/proc/self/status", "VmRSS:"); }

// What was freed earlier may lie in the heap and would be used again unseen: it is given back first.
PeakMemory::PeakMemory() {
  malloc_trim(0);
  reset_ = reset_peak();
  before_ = resident_memory();
}

std::optional<int64_t> PeakMemory::growth() const {
  const int64_t peak = read_kilobytes("/proc/self/status", "VmHWM:");
  if (!reset_ || before_ == kUnknown || peak == kUnknown) return std::nullopt;
  return std::max<int64_t>(0, peak - before_);
}

}  // namespace fib::bench
