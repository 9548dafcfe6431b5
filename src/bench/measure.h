// SPDX-License-Identifier: Apache-2.0
// Time and memory of contestants. They are timed in turn, so that what disturbs the machine disturbs all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace fib::bench {

struct Timing {
  double min_ms = 0.0;
  double median_ms = 0.0;
  int runs = 0;
};

struct TimingOptions {
  double seconds = 3.0;  ///< for all contestants together, as far as the least number of rounds allows
  int least_rounds = 3;
  int most_rounds = 40;
  double turn_ms = 20.0;  ///< a fast contestant runs several times in its turn, at most about this long
};

/// What a person may be shown: how much of the work is done, from 0 to 1.
using Progress = std::function<void(double)>;

/// Milliseconds from any beginning.
using Clock = std::function<double()>;
double wall_clock();

/// Each has run at least once before, so that its memory is in place.
std::vector<Timing> time_interleaved(const std::vector<std::function<void()>>& contestants,
                                     const TimingOptions& options = {}, const Progress& progress = {},
                                     const Clock& clock = wall_clock);

// ---- What this process and this machine have of memory, as Linux tells it

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
