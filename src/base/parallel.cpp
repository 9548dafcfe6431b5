// SPDX-License-Identifier: Apache-2.0
#include "base/parallel.h"

#include <pthread.h>

#include <exception>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>

#include "base/system.h"

namespace fib {
namespace {

/// Some 50 µs of waiting awake, longer than any step between two that are divided.
constexpr int kAwakeTurns = 2000;

/// Beside the number of threads at work: whether more may join.
constexpr int64_t kOpen = int64_t{1} << 62;
constexpr uint32_t kDismissed = 0xffffffff;

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

bool forked = false;  // written by a child before it has another thread

}  // namespace

int parallel_threads() {
  // A parent that has not been here yet has no OpenMP threads of ours for a child to miss.
  [[maybe_unused]] static const int registered = ::pthread_atfork(nullptr, nullptr, [] {
    forked = true;
    AwakeTeam::current() = nullptr;
  });
  return forked || omp_in_parallel() ? 1 : omp_get_max_threads();
}

AwakeTeam*& AwakeTeam::current() {
  thread_local AwakeTeam* team = nullptr;
  return team;
}

void AwakeTeam::run(Work work, const void* context) {
  work_ = work, context_ = context;
  running_.store(kOpen, std::memory_order_release);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  current() = nullptr;
  work(context, 0);
  current() = this;
  // A thread that the system has not scheduled yet is not waited for: no task is left for it.
  running_.fetch_and(~kOpen, std::memory_order_acq_rel);
  for (int turn = 0; running_.load(std::memory_order_acquire) != 0; ++turn) {
    turn < kAwakeTurns ? pause_briefly() : std::this_thread::yield();
  }
}

void AwakeTeam::serve(int64_t self) {
  for (uint32_t seen = 0;;) {
    for (int turn = 0; round_.load(std::memory_order_acquire) == seen && turn < kAwakeTurns; ++turn) pause_briefly();
    round_.wait(seen, std::memory_order_acquire);
    seen = round_.load(std::memory_order_acquire);
    if (seen == kDismissed) return;
    int64_t state = running_.load(std::memory_order_acquire);
    while ((state & kOpen) != 0) {
      if (!running_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel)) continue;
      work_(context_, self);
      running_.fetch_sub(1, std::memory_order_release);
      break;
    }
  }
}

void AwakeTeam::dismiss() {
  round_.store(kDismissed, std::memory_order_release);
  round_.notify_all();
}

void require_threads(int64_t count) {
  std::promise<void> all_started;
  const std::shared_future<void> released = all_started.get_future().share();
  std::vector<std::thread> threads;
  std::string refused;
  try {
    while (static_cast<int64_t>(threads.size()) + 1 < count)
      threads.push_back(start_unnamed_thread([released] { released.wait(); }));
  } catch (const std::exception& error) {  // of the system, or for want of memory
    refused = error.what();
  }
  all_started.set_value();
  for (std::thread& thread : threads) thread.join();
  if (!refused.empty())
    throw std::runtime_error("cannot start " + std::to_string(count) + " threads: after " +
                             std::to_string(threads.size()) + " the system said '" + refused + "'");
}

}  // namespace fib
