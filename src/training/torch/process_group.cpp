// SPDX-License-Identifier: Apache-2.0
#include "training/torch/process_group.h"

#include <cstdlib>
#include <utility>

#ifndef USE_C10D_GLOO
#define USE_C10D_GLOO  // without it the header is empty
#endif
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

namespace fib::training {
namespace {

/// torch's errors bring a stack trace; the first line says what happened.
std::string first_line(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

template <class Call>
auto or_lost(Call&& call) {
  try {
    return call();
  } catch (const std::exception& error) {
    throw LostRank("another process of this run is gone or does not answer (" + first_line(error) + ")");
  }
}

/// From 2.4 on torch asks for libuv unless told otherwise, and Debian's build is without it. Older ones have no choice.
template <class Options>
void choose_backend(Options& options) {
  if constexpr (requires { options.useLibUV; }) options.useLibUV = false;
}

c10::intrusive_ptr<c10d::Store> open_store(const Launch& launch) {
  c10d::TCPStoreOptions options;
  choose_backend(options);
  options.port = static_cast<uint16_t>(launch.port);
  options.isServer = launch.rank == 0 && !launch.agent_store;
  options.numWorkers = static_cast<size_t>(launch.world);
  options.waitWorkers = !launch.agent_store;
  c10::intrusive_ptr<c10d::Store> store = c10::make_intrusive<c10d::TCPStore>(launch.address, options);
  if (!launch.agent_store) return store;
  // A restarted run must not read what the one before it left in torchrun's store.
  return c10::make_intrusive<c10d::PrefixStore>("/worker/attempt_" + launch.attempt, store);
}

/// A machine may not be able to resolve its own name; processes that all run here do not need it.
std::shared_ptr<gloo::transport::Device> open_device(const Launch& launch) {
  using Group = c10d::ProcessGroupGloo;
  if (const char* interface = std::getenv("GLOO_SOCKET_IFNAME")) return Group::createDeviceForInterface(interface);
  const bool here =
      launch.world == launch.local_world || launch.address == "localhost" || launch.address == "127.0.0.1";
  return here ? Group::createDeviceForHostname("127.0.0.1") : Group::createDefaultDevice();
}

}  // namespace

struct ProcessGroup::Gloo {
  explicit Gloo(const Launch& launch) {
    const auto options = c10d::ProcessGroupGloo::Options::create();
    options->devices.push_back(open_device(launch));
    group = c10::make_intrusive<c10d::ProcessGroupGloo>(open_store(launch), launch.rank, launch.world, options);
  }

  struct Sum : Pending {
    explicit Sum(c10::intrusive_ptr<c10d::Work> started) : work(std::move(started)) {}
    void wait() override {
      or_lost([&] { return work->wait(); });
    }
    c10::intrusive_ptr<c10d::Work> work;
  };

  c10::intrusive_ptr<c10d::ProcessGroupGloo> group;
};

ProcessGroup::ProcessGroup(const Launch& launch) : launch_(launch) {
  if (launch.world > 1) gloo_ = or_lost([&] { return std::make_unique<Gloo>(launch); });
}

ProcessGroup::~ProcessGroup() = default;

std::unique_ptr<ProcessGroup::Pending> ProcessGroup::begin_sum(const at::Tensor& tensor) {
  struct Done : Pending {
    void wait() override {}
  };
  if (!gloo_) return std::make_unique<Done>();
  return or_lost([&]() -> std::unique_ptr<Pending> {
    std::vector<at::Tensor> tensors = {tensor};
    return std::make_unique<Gloo::Sum>(gloo_->group->allreduce(tensors));
  });
}

void ProcessGroup::broadcast(const at::Tensor& tensor) {
  if (!gloo_) return;
  or_lost([&] {
    std::vector<at::Tensor> tensors = {tensor};
    return gloo_->group->broadcast(tensors)->wait();
  });
}

std::string broadcast_text(ProcessGroup& group, std::string text) {
  const at::Tensor size = at::tensor({static_cast<int64_t>(text.size())}, at::kLong);
  group.broadcast(size);
  text.resize(static_cast<size_t>(size.item<int64_t>()));
  group.broadcast(at::from_blob(text.data(), {static_cast<int64_t>(text.size())}, at::kByte));
  return text;
}

}  // namespace fib::training
