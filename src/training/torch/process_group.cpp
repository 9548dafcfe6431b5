// SPDX-License-Identifier: Apache-2.0
#include "training/torch/process_group.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <optional>
#include <utility>

#include "base/measure.h"
#include "base/parallel.h"
#include "base/system.h"
#include "training/torch/rendezvous.h"

#ifndef USE_C10D_GLOO
#define USE_C10D_GLOO  // without it the header is empty
#endif
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

namespace fib::training {
namespace {

using namespace std::chrono_literals;

/// How long a process that was asked to stop waits for the others to answer in the usual way.
constexpr double kGrace = 1.5;

/// The store's, the heartbeat's, those of the rendezvous and the connections, Gloo's three, and one that asks who is
/// silent. Where Gloo cannot make all of its own it ends the program, so all are asked for first.
constexpr int64_t kThreads = 9;

/// torch's errors bring a stack trace; the first line says what happened.
std::string first_line(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

/// A machine may not be able to resolve its own name; processes that all run here do not need it.
std::shared_ptr<gloo::transport::Device> open_device(const StorePtr& store, const Launch& launch) {
  using Group = c10d::ProcessGroupGloo;
  if (const char* interface = std::getenv("GLOO_SOCKET_IFNAME")) return Group::createDeviceForInterface(interface);
  if (launch.world == launch.local_world) return Group::createDeviceForHostname("127.0.0.1");
  return Group::createDeviceForHostname(own_address(store, launch));
}

/// Whether it was done in time; throws what went wrong.
bool finished_within(c10d::Work& work, std::chrono::milliseconds time) {
  try {
    return work.wait(time);
  } catch (const std::exception&) {
    if (!work.isCompleted()) return false;
  }
  return work.wait();
}

}  // namespace

struct ProcessGroup::Gloo {
  Gloo(const Launch& launch, const WaitOptions& options) : wait_options(options) {
    require_threads(kThreads);
    store = open_store(launch, options);
    heartbeat.emplace(join_store(launch, options), launch);
    rendezvous(store, launch, options);
    group = connect(launch);
  }

  /// In a thread that is left behind where the others answer the store but cannot be reached.
  c10::intrusive_ptr<c10d::ProcessGroupGloo> connect(const Launch& launch) const {
    const auto options = c10d::ProcessGroupGloo::Options::create();
    options->devices.push_back(open_device(store, launch));
    std::packaged_task<c10::intrusive_ptr<c10d::ProcessGroupGloo>()> task([=, store = store] {
      return c10::make_intrusive<c10d::ProcessGroupGloo>(store, launch.rank, launch.world, options);
    });
    auto made = task.get_future();
    start_thread("that connects the processes", std::move(task)).detach();
    for (RendezvousTimeout timeout(wait_options); made.wait_for(0s) != std::future_status::ready;)
      timeout.wait("connections to the other processes");
    return made.get();
  }

  /// Until it is done. Gloo itself would not hear of a wish to stop.
  void wait(c10d::Work& work) {
    try {
      Waiting waiting;
      while (!finished_within(work, 250ms)) check(waiting);
    } catch (const LostRank&) {
      throw;
    } catch (const std::exception& error) {
      throw LostRank(fmt::format("{} was lost ({})", ranks_text(heartbeat->silent()), first_line(error)));
    }
  }

  struct Waiting {
    Stopwatch watch;
    double since = 0;           ///< when the last heartbeat of the others was seen by this wait
    double asked_to_stop = -1;  ///< when; negative: not yet
  };

  /// A process that only takes long is waited for: it counts on meanwhile.
  void check(Waiting& waiting) {
    const double now = waiting.watch.seconds();
    if (waiting.asked_to_stop < 0 && wait_options.cancel.requested()) waiting.asked_to_stop = now;
    if (waiting.asked_to_stop >= 0 && now - waiting.asked_to_stop > kGrace) {
      abandoned = true;
      throw LostRank(fmt::format("stopped while waiting for {}", ranks_text(heartbeat->silent())));
    }
    if (now - waiting.since < wait_options.peer_timeout) return;
    const std::vector<int> silent = heartbeat->silent();
    waiting.since = now;
    if (silent.empty()) return;
    abandoned = true;
    throw LostRank(fmt::format("{} was lost: no heartbeat within {:g} s (--peer-timeout)", ranks_text(silent),
                               wait_options.peer_timeout));
  }

  struct Sum : Pending {
    Sum(Gloo& owner, c10::intrusive_ptr<c10d::Work> started) : gloo(owner), work(std::move(started)) {}
    void wait() override { gloo.wait(*work); }
    Gloo& gloo;
    c10::intrusive_ptr<c10d::Work> work;
  };

  WaitOptions wait_options;
  StorePtr store;
  std::optional<Heartbeat> heartbeat;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group;
  bool abandoned = false;  ///< a call is still under way, and may be for minutes
};

ProcessGroup::ProcessGroup(const Launch& launch, const WaitOptions& wait) : launch_(launch) {
  if (launch.world == 1) return;
  try {
    gloo_ = std::make_unique<Gloo>(launch, wait);
  } catch (const LostRank&) {
    throw;
  } catch (const std::exception& error) {
    throw LostRank(
        fmt::format("the {} processes of this run could not start together ({})", launch.world, first_line(error)));
  }
}

/// What is abandoned would make its destructor wait for it: the system ends it with the process.
ProcessGroup::~ProcessGroup() {
  if (gloo_ && gloo_->abandoned) static_cast<void>(gloo_.release());
}

std::unique_ptr<ProcessGroup::Pending> ProcessGroup::begin_sum(const at::Tensor& tensor) {
  struct Done : Pending {
    void wait() override {}
  };
  if (!gloo_) return std::make_unique<Done>();
  std::vector<at::Tensor> tensors = {tensor};
  return std::make_unique<Gloo::Sum>(*gloo_, gloo_->group->allreduce(tensors));
}

void ProcessGroup::broadcast(const at::Tensor& tensor) {
  if (!gloo_) return;
  std::vector<at::Tensor> tensors = {tensor};
  gloo_->wait(*gloo_->group->broadcast(tensors));
}

std::string broadcast_text(ProcessGroup& group, std::string text) {
  const at::Tensor size = at::tensor({static_cast<int64_t>(text.size())}, at::kLong);
  group.broadcast(size);
  text.resize(static_cast<size_t>(size.item<int64_t>()));
  group.broadcast(at::from_blob(text.data(), {static_cast<int64_t>(text.size())}, at::kByte));
  return text;
}

}  // namespace fib::training
