// SPDX-License-Identifier: Apache-2.0
// Cancellation: a request to stop, made once and read by long work between its parts.
#pragma once

#include <atomic>
#include <memory>
#include <stdexcept>

namespace fib {

/// Thrown by work that was cancelled.
struct Cancelled : std::runtime_error {
  Cancelled() : std::runtime_error("cancelled") {}
};

/// Handed down to what can be cancelled. One that no source made is never requested.
class CancelToken {
 public:
  CancelToken() = default;

  /// The signal that asked for it; 0: nothing has.
  int signal() const { return state_ ? state_->load() : 0; }
  bool requested() const { return signal() != 0; }
  void throw_if_requested() const {
    if (requested()) throw Cancelled();
  }

 private:
  friend class CancelSource;
  explicit CancelToken(std::shared_ptr<const std::atomic<int>> state) : state_(std::move(state)) {}

  std::shared_ptr<const std::atomic<int>> state_;
};

/// What asks for it. request() may be called by a signal handler and from any thread.
class CancelSource {
 public:
  static constexpr int kNoSignal = -1;  ///< asked for by the program itself

  CancelToken token() const { return CancelToken(state_); }
  void request(int signal = kNoSignal) noexcept { state_->store(signal); }

 private:
  static_assert(std::atomic<int>::is_always_lock_free, "a signal handler stores it");
  std::shared_ptr<std::atomic<int>> state_ = std::make_shared<std::atomic<int>>(0);
};

}  // namespace fib
