// SPDX-License-Identifier: Apache-2.0
#include "cli/stop_signals.h"

#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

namespace fib::cli {
namespace {

/// timeout(1) sends a signal to the program and to its group: these are one wish.
constexpr int64_t kSameWishMs = 500;

std::atomic<const char*> heard_line{""};
std::atomic<bool> on_terminal{false};
std::atomic<CancelSource*> cancelled{nullptr};
std::atomic<int64_t> noted_at{0};  ///< 0: not yet. It decides who is first; another thread may get the echo meanwhile.
static_assert(std::atomic<CancelSource*>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free);

int64_t now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{1000} * now.tv_sec + now.tv_nsec / 1'000'000;
}

/// Only write() may be called by a handler; whether it succeeds changes nothing.
void put(const char* text) { [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, std::strlen(text)); }

extern "C" void note_signal(int signal) {
  const int errno_before = errno;  // what it interrupts may be about to read it
  const int64_t now = now_ms();
  int64_t first = 0;
  if (noted_at.compare_exchange_strong(first, now)) {
    cancelled.load()->request(signal);
    const char* line = heard_line;
    if (on_terminal && *line != '\0') put("\r\033[K");  // a progress bar may stand there
    put(line);
  } else if (now - first > kSameWishMs) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  errno = errno_before;
}

}  // namespace

StopSignals::StopSignals(CancelSource& source, const char* line) {
  heard_line = line;
  cancelled = &source;
  on_terminal = ::isatty(STDERR_FILENO) != 0;
  noted_at = 0;
  std::signal(SIGINT, note_signal);
  std::signal(SIGTERM, note_signal);
}

StopSignals::~StopSignals() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace fib::cli
