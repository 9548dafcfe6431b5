// SPDX-License-Identifier: Apache-2.0
// The processes that train one model together, over Gloo. With one process every call returns at once.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/cancel.h"

namespace fib::training {

/// What the environment says about the processes of a run, as torchrun sets it.
struct Launch {
  int rank = 0;
  int world = 1;
  int local_world = 1;  ///< processes on this machine
  std::string address = "127.0.0.1";
  int port = 29500;
  bool agent_store = false;  ///< torchrun itself serves the store at address:port
  std::string attempt = "";  ///< which restart this is, where torchrun counts them

  /// RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT. Throws std::invalid_argument where some are
  /// missing or are not what they should be; without any there is one process.
  static Launch from_environment();
};

/// How a process waits for the others.
struct WaitOptions {
  double peer_timeout = 60;  ///< seconds to wait for a process without a heartbeat
  CancelToken cancel = {};   ///< read a few times a second; ends the waiting as if the others were lost
  /// A line every few seconds about missing ranks during the rendezvous.
  std::function<void(const std::string&)> tell = [](const std::string&) {};
};

/// Another process is gone, or does not answer, or waiting for it was stopped.
struct LostRank : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Collective calls: every process must make the same ones in the same order. They throw LostRank.
class ProcessGroup {
 public:
  /// Waits for all others.
  explicit ProcessGroup(const Launch& launch = {}, const WaitOptions& wait = {});
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  int rank() const { return launch_.rank; }
  int world() const { return launch_.world; }
  bool is_first() const { return launch_.rank == 0; }

  /// A sum under way; the tensor must not be touched before wait() returns.
  class Pending {
   public:
    virtual ~Pending() = default;
    virtual void wait() = 0;
  };
  std::unique_ptr<Pending> begin_sum(const at::Tensor& tensor);

  /// Over all processes, in place.
  void sum(const at::Tensor& tensor) { begin_sum(tensor)->wait(); }
  /// What process 0 has.
  void broadcast(const at::Tensor& tensor);

 private:
  struct Gloo;
  Launch launch_;
  std::unique_ptr<Gloo> gloo_;  ///< null where there is one process
};

/// The text that process 0 has.
std::string broadcast_text(ProcessGroup& group, std::string text);

}  // namespace fib::training
