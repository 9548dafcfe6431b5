// SPDX-License-Identifier: Apache-2.0
// How the processes of a run find each other, and how they know later who of them is still there.
#pragma once

#include <future>
#include <memory>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "base/measure.h"
#include "training/torch/process_group.h"

namespace fib::training {

/// "rank 2" or "ranks 1, 3"; "another process" where none is known.
std::string ranks_text(const std::vector<int>& ranks);

/// Waiting with a time limit: reports what is missing every few seconds and can be cancelled.
class RendezvousTimeout {
 public:
  explicit RendezvousTimeout(const WaitOptions& options) : options_(options) {}
  /// Sleeps a little; `missing` says for what. Throws LostRank after the peer timeout and on cancellation.
  void wait(const std::string& missing);

 private:
  const WaitOptions& options_;
  Stopwatch watch_;
  double next_line_ = 2;  // processes that are started together need no line
};

using StorePtr = c10::intrusive_ptr<c10d::Store>;

/// Serves the store, in process 0 unless torchrun does, or joins it. Throws LostRank where it is not there in time.
StorePtr open_store(const Launch& launch, const WaitOptions& wait);
/// Another connection to a store that is open.
StorePtr join_store(const Launch& launch, const WaitOptions& wait);

/// Counts in the store while the process lives, and finds processes whose count has stopped.
class Heartbeat {
 public:
  /// `store` is a connection of its own: one that hangs must not stop anything else.
  Heartbeat(StorePtr store, const Launch& launch);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  /// Ranks without a heartbeat; 0, which serves the store, where the store does not answer; none where no thread can
  /// be started for the check. Takes about a second.
  std::vector<int> silent() const;

 private:
  /// Shared with the thread, which a store that hangs may keep beyond this object's life.
  struct Shared;
  std::shared_ptr<Shared> shared_;
  std::future<void> ended_;
  std::thread thread_;
};

/// Returns once all processes have come; each must have its Heartbeat. Throws LostRank where one does not come in time
/// or has gone meanwhile.
void rendezvous(const StorePtr& store, const Launch& launch, const WaitOptions& wait);

/// The address at which the others reach this process: that from which it reaches MASTER_ADDR itself; for process 0
/// the one that the others use.
std::string own_address(const StorePtr& store, const Launch& launch);

}  // namespace fib::training
