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

/// How many threads a parallel region may have here. After a fork only one: the child has none of its parent's OpenMP
/// threads, and a region that counts on them would wait for ever. Data loaders' workers are such children.
int parallel_threads();

/// Throws std::runtime_error with one line unless the system grants this many threads, the caller's among them. To be
/// asked before OpenMP is: where it cannot make a thread it ends the program.
void require_threads(int64_t count);

/// OpenMP threads that spin until the next parallel_tasks of the one that made them: between short steps that costs
/// a microsecond instead of the tens that waking a sleeping thread takes.
class AwakeTeam {
 public:
  using Work = void (*)(const void* context, int64_t self);

  /// The team whose tasks this thread gives out; null for others, and while tasks run.
  static AwakeTeam*& current();

  int64_t threads() const { return threads_; }
  /// Calls work(context, self) on every thread, the caller being 0.
  void run(Work work, const void* context);

  /// To be called by all threads of a parallel region: the first gives out tasks, the others serve until it is done.
  template <class Body>
  void lead(const Body& body) {
    threads_ = omp_get_num_threads();
    current() = this;
    body();
    current() = nullptr;
    dismiss();
  }
  void serve(int64_t self);

 private:
  void dismiss();
  int64_t threads_ = 1;
  Work work_ = nullptr;
  const void* context_ = nullptr;
  std::atomic<uint32_t> round_{0};
  std::atomic<int64_t> running_{0};
};

/// Runs the body; its parallel_tasks find the threads awake.
template <class Body>
void with_awake_threads(const Body& body) {
  const int threads = parallel_threads();
  if (threads <= 1 || AwakeTeam::current() != nullptr) return body();
  AwakeTeam team;
  std::exception_ptr error;
#pragma omp parallel num_threads(threads)
  if (omp_get_thread_num() == 0) {
    team.lead([&]() noexcept {
      try {
        body();
      } catch (...) {
        error = std::current_exception();
      }
    });
  } else {
    team.serve(omp_get_thread_num());
  }
  if (error) std::rethrow_exception(error);
}

/// Calls task(i) once for every i in [0, count). Each thread walks a contiguous share, because neighbouring tasks read
/// the same data, and then helps the others with theirs. The first exception ends the loop and leaves it here.
template <class Task>
void parallel_tasks(int64_t count, const Task& task) {
  struct alignas(64) Share {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };
  AwakeTeam* const team = AwakeTeam::current();
  const int64_t all = team != nullptr ? team->threads() : parallel_threads();
  const int64_t threads = std::clamp<int64_t>(all, 1, std::max<int64_t>(1, count));
  std::vector<Share> shares(static_cast<size_t>(threads));
  for (int64_t s = 0; s < threads; ++s) {
    shares[static_cast<size_t>(s)].next = count * s / threads;
    shares[static_cast<size_t>(s)].end = count * (s + 1) / threads;
  }
  std::exception_ptr error;
  std::atomic<bool> failed{false};
  const auto work = [&](int64_t self) noexcept {
    try {
      // A team may have more threads than there are tasks; they find nothing left.
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
  } else if (team != nullptr) {
    const auto call = [](const void* context, int64_t self) { (*static_cast<const decltype(work)*>(context))(self); };
    team->run(call, &work);
  } else {
#pragma omp parallel num_threads(static_cast <int>(threads))
    work(omp_get_thread_num());
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace fib
