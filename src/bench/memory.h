// SPDX-License-Identifier: Apache-2.0
// What this process and this machine have of memory, as Linux tells it.
#pragma once

#include <cstdint>
#include <optional>

namespace fib::bench {

/// Bytes that can still be allocated without swapping: the machine's, or the control group's where that is less.
int64_t available_memory();

/// Bytes this process has in memory now.
int64_t resident_memory();

/// Measures the growth of resident memory from its making to its peak; nothing where the kernel does not let us.
class PeakMemory {
 public:
  PeakMemory();
  std::optional<int64_t> growth() const;

 private:
  bool reset_;
  int64_t before_;
};

}  // namespace fib::bench
