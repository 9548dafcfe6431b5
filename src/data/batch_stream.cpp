// SPDX-License-Identifier: Apache-2.0
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <variant>

#include "data/loader.h"

namespace fib {

/// Workers take steps from a counter and put their results into a map, where the consumer finds them in order.
struct BatchStream::Shared {
  using Result = std::variant<Batch, std::exception_ptr>;

  Shared(const Loader& l, uint64_t e, size_t first_step)
      : loader(l),
        epoch(e),
        order(l.sampler_.order(e)),
        end(l.steps_per_epoch()),
        next_made(first_step),
        next_given(first_step) {}

  /// Waits for room, then reserves a step; none when there is no more to do.
  std::optional<size_t> take_step() {
    std::unique_lock lock(mutex);
    const auto prefetch = static_cast<size_t>(loader.options_.prefetch);
    changed.wait(lock, [&] { return stopped || next_made >= end || next_made < next_given + prefetch; });
    if (stopped || next_made >= end) return std::nullopt;
    return next_made++;
  }

  void put(size_t step, Result result) {
    const std::lock_guard lock(mutex);
    ready.emplace(step, std::move(result));
    changed.notify_all();
  }

  Result make(size_t step) const {
    try {
      return loader.make_batch(epoch, order, step);
    } catch (...) {
      return std::current_exception();
    }
  }

  void work() {
    while (const auto step = take_step()) put(*step, make(*step));
  }

  /// The result of the next step, waited for.
  Result take_result() {
    if (workers.empty()) return make(next_given++);
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return ready.contains(next_given); });
    Result result = std::move(ready.extract(next_given++).mapped());
    changed.notify_all();
    return result;
  }

  void stop() {
    {
      const std::lock_guard lock(mutex);
      stopped = true;
    }
    changed.notify_all();
    for (std::thread& worker : workers) worker.join();
    workers.clear();
  }

  const Loader& loader;
  const uint64_t epoch;
  const std::vector<size_t> order;
  const size_t end;

  std::mutex mutex;
  std::condition_variable changed;
  size_t next_made, next_given;
  bool stopped = false;
  std::map<size_t, Result> ready;
  std::vector<std::thread> workers;
};

BatchStream::BatchStream(const Loader& loader, uint64_t epoch, size_t first_step)
    : shared_(std::make_unique<Shared>(loader, epoch, first_step)) {
  for (int i = 0; i < loader.options_.workers; ++i) shared_->workers.emplace_back([s = shared_.get()] { s->work(); });
}

BatchStream::BatchStream(BatchStream&&) noexcept = default;

BatchStream::~BatchStream() {
  if (shared_) shared_->stop();
}

std::optional<Batch> BatchStream::next() {
  if (shared_->stopped || shared_->next_given >= shared_->end) return std::nullopt;
  Shared::Result result = shared_->take_result();
  if (auto* batch = std::get_if<Batch>(&result)) return std::move(*batch);
  shared_->stop();
  std::rethrow_exception(std::get<std::exception_ptr>(result));
}

}  // namespace fib
