// SPDX-License-Identifier: Apache-2.0
// Independent tasks on the OpenMP threads. Who runs a task never changes its result, so callers stay deterministic.
#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <vector>

namespace fib {

/// Throws std::runtime_error with one line unless the system grants this many threads, the caller's among them. To be
/// asked before OpenMP is: where it cannot make a thread it ends the program.
void require_threads(int64_t count);

/// Calls task(i) once for every i in [0, count). Each thread walks a contiguous share, because neighbouring tasks read
/// the same data, and then helps the others with theirs. The first exception ends the loop and leaves it here.
template <class Task>
void parallel_tasks(int64_t count, const Task& task) {
  struct alignas(64) Share {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };
  const int64_t threads =
      std::clamp<int64_t>(omp_in_parallel() ? 1 : omp_get_max_threads(), 1, std::max<int64_t>(1, count));
  std::vector<Share> shares(static_cast<size_t>(threads));
  for (int64_t s = 0; s < threads; ++s) {
    shares[static_cast<size_t>(s)].next = count * s / threads;
    shares[static_cast<size_t>(s)].end = count * (s + 1) / threads;
  }
  std::exception_ptr error;
  std::atomic<bool> failed{false};
  const auto work = [&](int64_t self) noexcept {
    try {
      for (int64_t turn = 0; turn < threads; ++turn) {
        Share& share = shares[static_cast<size_t>((self + turn) % threads)];
        for (int64_t i = share.next++; i < share.end && !failed; i = share.next++) task(i);
      }
    } catch (...) {
      if (!failed.exchange(true)) error = std::current_exception();
    }
  };
  if (threads == 1) {
    work(0);
  } else {
#pragma omp parallel num_threads(static_cast <int>(threads))
    work(omp_get_thread_num());
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace fib
