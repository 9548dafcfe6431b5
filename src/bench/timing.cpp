// SPDX-License-Identifier: Apache-2.0
#include "bench/timing.h"

#include <algorithm>
#include <chrono>

namespace fib::bench {
namespace {

constexpr int kMostRunsPerTurn = 200;

double run_ms(const std::function<void()>& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

struct Turn {
  const std::function<void()>* run;
  int runs = 1;
  double ms = 0.0;  // of one run, about
  std::vector<double> samples = {};
};

std::vector<Turn> plan_turns(const std::vector<std::function<void()>>& contestants, const TimingOptions& options) {
  std::vector<Turn> turns;
  for (const auto& contestant : contestants) {
    Turn turn{&contestant};
    turn.ms = run_ms(contestant);
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
void take_turn(Turn& turn) {
  if (turn.runs > 1) (*turn.run)();
  for (int i = 0; i < turn.runs; ++i) turn.samples.push_back(run_ms(*turn.run));
}

Timing summarise(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return {samples.front(), samples[samples.size() / 2], static_cast<int>(samples.size())};
}

}  // namespace

std::vector<Timing> time_interleaved(const std::vector<std::function<void()>>& contestants,
                                     const TimingOptions& options, const Progress& progress) {
  std::vector<Turn> turns = plan_turns(contestants, options);
  const int rounds = plan_rounds(turns, options);
  for (int round = 0; round < rounds; ++round) {
    for (Turn& turn : turns) take_turn(turn);
    if (progress) progress(static_cast<double>(round + 1) / rounds);
  }
  std::vector<Timing> timings;
  timings.reserve(turns.size());
  for (Turn& turn : turns) timings.push_back(summarise(std::move(turn.samples)));
  return timings;
}

}  // namespace fib::bench
