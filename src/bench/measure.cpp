// SPDX-License-Identifier: Apache-2.0
#include "bench/measure.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <limits>
#include <string>

namespace fib::bench {

namespace {

constexpr int kMostRunsPerTurn = 200;

double run_ms(const std::function<void()>& run, const Clock& clock) {
  const double begin = clock();
  run();
  return clock() - begin;
}

struct Turn {
  const std::function<void()>* run;
  int runs = 1;
  double ms = 0.0;  // of one run, about
  std::vector<double> samples = {};
};

std::vector<Turn> plan_turns(const std::vector<std::function<void()>>& contestants, const TimingOptions& options,
                             const Clock& clock) {
  std::vector<Turn> turns;
  for (const auto& contestant : contestants) {
    Turn turn{&contestant};
    turn.ms = run_ms(contestant, clock);
    turn.samples.push_back(turn.ms);
    turn.runs = std::clamp(static_cast<int>(options.turn_ms / std::max(turn.ms, 1e-3)), 1, kMostRunsPerTurn);
    // Who takes longer than the time for all is timed this once.
    if (turn.ms > options.seconds * 1e3) turn.runs = 0;
    turns.push_back(turn);
  }
  return turns;
}

int plan_rounds(const std::vector<Turn>& turns, const TimingOptions& options) {
  double round_ms = 1e-3;
  for (const Turn& turn : turns) round_ms += turn.ms * turn.runs;
  const double rounds = options.seconds * 1e3 / round_ms;
  return static_cast<int>(std::clamp<double>(rounds, options.least_rounds, options.most_rounds));
}

/// The others have emptied the caches: a fast contestant runs once untimed.
void take_turn(Turn& turn, const Clock& clock) {
  if (turn.runs > 1) (*turn.run)();
  for (int i = 0; i < turn.runs; ++i) turn.samples.push_back(run_ms(*turn.run, clock));
}

Timing summarise(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return {samples.front(), samples[samples.size() / 2], static_cast<int>(samples.size())};
}

}  // namespace

double wall_clock() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<Timing> time_interleaved(const std::vector<std::function<void()>>& contestants,
                                     const TimingOptions& options, const Progress& progress, const Clock& clock) {
  std::vector<Turn> turns = plan_turns(contestants, options, clock);
  const int rounds = plan_rounds(turns, options);
  for (int round = 0; round < rounds; ++round) {
    for (Turn& turn : turns) take_turn(turn, clock);
    if (progress) progress(static_cast<double>(round + 1) / rounds);
  }
  std::vector<Timing> timings;
  timings.reserve(turns.size());
  for (Turn& turn : turns) timings.push_back(summarise(std::move(turn.samples)));
  return timings;
}

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
