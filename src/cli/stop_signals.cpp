// SPDX-License-Identifier: Apache-2.0
#include "cli/stop_signals.h"

#include <time.h>

#include <atomic>
#include <csignal>
#include <cstdint>

namespace fib::cli {
namespace {

/// timeout(1) sends a signal to the program and to its group: these are one wish.
constexpr int64_t kSameWishMs = 500;

std::atomic<int> noted{0};
std::atomic<int64_t> noted_at{0};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free);

int64_t now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{1000} * now.tv_sec + now.tv_nsec / 1'000'000;
}

extern "C" void note_signal(int signal) {
  int none = 0;
  if (noted.compare_exchange_strong(none, signal)) {
    noted_at = now_ms();
  } else if (now_ms() - noted_at > kSameWishMs) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

}  // namespace

StopSignals::StopSignals() {
  noted = 0;
  std::signal(SIGINT, note_signal);
  std::signal(SIGTERM, note_signal);
}

StopSignals::~StopSignals() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

int StopSignals::received() { return noted; }

}  // namespace fib::cli
