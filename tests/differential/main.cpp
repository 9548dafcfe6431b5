// SPDX-License-Identifier: Apache-2.0
// fuzz_differential [--seconds S] [--seed N] [--only KIND:NUMBER]: random problems through every SIMD target and the
// slow oracle, in turn from every kind, until the time is over. Prints how many there were, and each finding with what
// computes it again; exit code 1 where there is one.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>

#include "base/text.h"
#include "differential.h"
#include "fibottention/attention.h"

namespace fib::test {

int64_t random_size(CounterRng& random, int64_t most) {
  switch (random.below(3)) {
    case 0:
      return integer_between(random, 1, std::min<int64_t>(most, 9));
    case 1:
      return std::clamp<int64_t>(8 * integer_between(random, 1, (most + 7) / 8) + integer_between(random, -1, 1), 1,
                                 most);
    default:
      return integer_between(random, 1, most);
  }
}

namespace {

struct Kind {
  const char* name;
  Trial (*run)(CounterRng random);
};
constexpr Kind kKinds[] = {{"attention", attention_trial}, {"dense", dense_trial}, {"product", product_trial}};

struct Arguments {
  double seconds = 60;
  uint64_t seed = 1;
  std::string only;
};

struct Count {
  int64_t problems = 0, refused = 0, comparisons = 0, findings = 0;
  std::map<std::string, int64_t> met = {};
};

void run_one(const Kind& kind, uint64_t seed, uint64_t number, Count& count) {
  const Trial trial = kind.run(CounterRng(seed, {static_cast<uint64_t>(kind.name[0]), number}));
  ++count.problems;
  count.refused += trial.refused;
  count.comparisons += trial.comparisons;
  for (const auto& [name, times] : trial.met) count.met[name] += trial.refused ? 0 : times;
  for (const std::string& finding : trial.findings) {
    if (++count.findings > 20) continue;  // the first say it
    std::printf("FINDING --seed %llu --only %s:%llu: %s; %s\n", static_cast<unsigned long long>(seed), kind.name,
                static_cast<unsigned long long>(number), finding.c_str(), trial.problem.c_str());
  }
}

void print(const char* kind, const Count& count) {
  std::printf("%s: %lld problems, %lld refused, %lld comparisons, %lld findings\n", kind,
              static_cast<long long>(count.problems), static_cast<long long>(count.refused),
              static_cast<long long>(count.comparisons), static_cast<long long>(count.findings));
  for (const auto& [name, times] : count.met) std::printf("  %s: %lld\n", name.c_str(), static_cast<long long>(times));
}

int run_only(const Arguments& arguments) {
  const size_t colon = arguments.only.find(':');
  const auto number = parse_number<uint64_t>(arguments.only.substr(colon == std::string::npos ? 0 : colon + 1));
  for (const Kind& kind : kKinds) {
    if (!number || arguments.only.substr(0, colon) != kind.name) continue;
    Count count;
    run_one(kind, arguments.seed, *number, count);
    print(kind.name, count);
    return count.findings > 0 ? 1 : 0;
  }
  std::fprintf(stderr, "fuzz_differential: --only takes KIND:NUMBER, got '%s'\n", arguments.only.c_str());
  return 2;
}

int run_all(const Arguments& arguments) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(arguments.seconds);
  Count counts[std::size(kKinds)];
  for (uint64_t number = 0; Clock::now() < end; ++number) {
    for (size_t i = 0; i < std::size(kKinds); ++i) run_one(kKinds[i], arguments.seed, number, counts[i]);
    std::fflush(stdout);
  }
  int64_t findings = 0;
  for (size_t i = 0; i < std::size(kKinds); ++i) print(kKinds[i].name, counts[i]), findings += counts[i].findings;
  std::string targets;
  for (const std::string& target : simd_targets()) targets += " " + target;
  std::printf("targets:%s\n", targets.c_str());
  return findings > 0 ? 1 : 0;
}

/// Whether the arguments were understood.
bool read(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--seconds")
      arguments.seconds = std::strtod(value.c_str(), nullptr);
    else if (name == "--seed")
      arguments.seed = std::strtoull(value.c_str(), nullptr, 10);
    else if (name == "--only")
      arguments.only = value;
    else
      return false;
  }
  return argc % 2 == 1;
}

}  // namespace
}  // namespace fib::test

int main(int argc, char** argv) {
  fib::test::Arguments arguments;
  if (!fib::test::read(argc, argv, arguments)) {
    std::fprintf(stderr, "usage: fuzz_differential [--seconds S] [--seed N] [--only KIND:NUMBER]\n");
    return 2;
  }
  return arguments.only.empty() ? run_all(arguments) : run_only(arguments);
}
