// SPDX-License-Identifier: Apache-2.0
#include "training/torch/rendezvous.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <future>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "base/system.h"

namespace fib::training {
namespace {

using namespace std::chrono_literals;

constexpr double kSecondsBetweenLines = 5;
constexpr auto kBeat = 200ms;

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

int integer(const char* name, int least, int most) {
  const std::string text = variable(name);
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
    throw std::invalid_argument(
        fmt::format("the environment variable {} is '{}', accepted {} to {}", name, text, least, most));
  return value;
}

void require_all() {
  for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
    if (variable(name).empty())
      throw std::invalid_argument(
          fmt::format("the environment variable {} is missing: to train with several processes set RANK, WORLD_SIZE, "
                      "MASTER_ADDR and MASTER_PORT, or start them with torchrun --no_python",
                      name));
}

/// A socket of the first of a name's addresses that `use` accepts; -1: of none.
template <class Use>
int open_socket(const Launch& launch, int kind, Use&& use) {
  addrinfo hints{};
  hints.ai_socktype = kind;
  addrinfo* found = nullptr;
  if (::getaddrinfo(launch.address.c_str(), fmt::format("{}", launch.port).c_str(), &hints, &found) != 0) return -1;
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, ::freeaddrinfo);
  for (const addrinfo* a = found; a != nullptr; a = a->ai_next) {
    const int descriptor = ::socket(a->ai_family, kind | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor >= 0 && use(descriptor, *a)) return descriptor;
    if (descriptor >= 0) ::close(descriptor);
  }
  return -1;
}

/// Whether something listens there, known within a second. The store's own client would wait without answering signals.
bool answers(const Launch& launch) {
  const int descriptor = open_socket(launch, SOCK_STREAM, [](int d, const addrinfo& a) {
    if (::connect(d, a.ai_addr, a.ai_addrlen) == 0) return true;
    pollfd ready{.fd = d, .events = POLLOUT, .revents = 0};
    int error = 0;
    socklen_t size = sizeof error;
    return ::poll(&ready, 1, 1000) == 1 && ::getsockopt(d, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
  });
  if (descriptor >= 0) ::close(descriptor);
  return descriptor >= 0;
}

std::string numeric(const sockaddr_storage& address, socklen_t size) {
  char host[NI_MAXHOST] = "";
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
  return host;
}

/// The ends of the way to MASTER_ADDR. Connecting a datagram socket sends nothing: it only asks for the route.
struct Way {
  std::string from, to;
};

Way way_to_master(const Launch& launch) {
  const int descriptor = open_socket(
      launch, SOCK_DGRAM, [](int d, const addrinfo& a) { return ::connect(d, a.ai_addr, a.ai_addrlen) == 0; });
  if (descriptor < 0) return {};
  sockaddr_storage from{}, to{};
  socklen_t from_size = sizeof from, to_size = sizeof to;
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&from), &from_size);
  ::getpeername(descriptor, reinterpret_cast<sockaddr*>(&to), &to_size);
  ::close(descriptor);
  return {numeric(from, from_size), numeric(to, to_size)};
}

/// From 2.4 on torch asks for libuv unless told otherwise, and Debian's build is without it. Older ones have no choice.
template <class Options>
void choose_backend(Options& options) {
  if constexpr (requires { options.useLibUV; }) options.useLibUV = false;
}

StorePtr connect_store(const Launch& launch, const WaitOptions& wait, bool serves) {
  c10d::TCPStoreOptions options;
  choose_backend(options);
  options.port = static_cast<uint16_t>(launch.port);
  options.isServer = serves;
  options.numWorkers = static_cast<size_t>(launch.world);
  options.waitWorkers = false;  // rendezvous() waits instead, and can be stopped
  options.timeout = std::chrono::milliseconds(static_cast<int64_t>(wait.peer_timeout * 1e3));
  StorePtr store = c10::make_intrusive<c10d::TCPStore>(launch.address, options);
  if (!launch.agent_store) return store;
  // A restarted run must not read what the one before it left in torchrun's store.
  return c10::make_intrusive<c10d::PrefixStore>("/worker/attempt_" + launch.attempt, store);
}

std::string came_key(int rank) { return fmt::format("fib/came/{}", rank); }
std::string beat_key(int rank) { return fmt::format("fib/alive/{}", rank); }

/// The ranks that came and have not counted for a while.
class Pulse {
 public:
  explicit Pulse(int world) : counts_(static_cast<size_t>(world)), since_(static_cast<size_t>(world)) {}

  std::vector<int> stopped(c10d::Store& store, const std::vector<int>& missing) {
    std::vector<int> ranks;
    for (int rank = 0; rank < static_cast<int>(counts_.size()); ++rank) {
      if (std::ranges::count(missing, rank) > 0) continue;
      const int64_t count = store.add(beat_key(rank), 0);
      const auto r = static_cast<size_t>(rank);
      if (count != counts_[r]) since_[r] = watch_.seconds();
      counts_[r] = count;
      if (watch_.seconds() - since_[r] > kSecondsBetweenLines) ranks.push_back(rank);
    }
    return ranks;
  }

 private:
  std::vector<int64_t> counts_;
  std::vector<double> since_;
  Stopwatch watch_;
};

}  // namespace

std::string ranks_text(const std::vector<int>& ranks) {
  if (ranks.empty()) return "another process";
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "));
}

void RendezvousTimeout::wait(const std::string& missing) {
  if (options_.cancel.requested()) throw LostRank(fmt::format("stopped while waiting for {}", missing));
  if (watch_.seconds() > options_.peer_timeout)
    throw LostRank(fmt::format("{} did not come within {:g} s (--peer-timeout)", missing, options_.peer_timeout));
  if (watch_.seconds() >= next_line_) {
    options_.tell(fmt::format("waiting for {}", missing));
    next_line_ += kSecondsBetweenLines;
  }
  std::this_thread::sleep_for(50ms);
}

Launch Launch::from_environment() {
  Launch launch;
  if (variable("RANK").empty() && variable("WORLD_SIZE").empty()) return launch;
  require_all();
  launch.world = integer("WORLD_SIZE", 1, 1 << 16);
  launch.rank = integer("RANK", 0, launch.world - 1);
  launch.local_world = variable("LOCAL_WORLD_SIZE").empty() ? 1 : integer("LOCAL_WORLD_SIZE", 1, launch.world);
  launch.address = variable("MASTER_ADDR");
  launch.port = integer("MASTER_PORT", 1, 65535);
  launch.agent_store = variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
  launch.attempt = variable("TORCHELASTIC_RESTART_COUNT");
  return launch;
}

StorePtr open_store(const Launch& launch, const WaitOptions& wait) {
  if (launch.rank == 0 && !launch.agent_store) return connect_store(launch, wait, true);
  RendezvousTimeout timeout(wait);
  while (!answers(launch)) timeout.wait(fmt::format("rank 0 at {}:{}", launch.address, launch.port));
  return join_store(launch, wait);
}

StorePtr join_store(const Launch& launch, const WaitOptions& wait) { return connect_store(launch, wait, false); }

struct Heartbeat::Shared {
  StorePtr store;
  int rank = 0, world = 1;
  std::promise<void> over;
};

Heartbeat::Heartbeat(StorePtr store, const Launch& launch) : shared_(std::make_shared<Shared>()) {
  shared_->store = std::move(store);
  shared_->rank = launch.rank;
  shared_->world = launch.world;
  std::packaged_task<void()> beat([shared = shared_, over = shared_->over.get_future()] {
    do shared->store->add(beat_key(shared->rank), 1);
    while (over.wait_for(kBeat) != std::future_status::ready);
  });
  ended_ = beat.get_future();  // with an error where the store is gone, and with it all who would look
  thread_ = start_thread("that tells the other processes of this one", std::move(beat));
}

/// Its thread may hang in a call over a line that is cut; then it is left behind.
Heartbeat::~Heartbeat() {
  shared_->over.set_value();
  if (ended_.wait_for(1s) == std::future_status::ready)
    thread_.join();
  else
    thread_.detach();
}

std::vector<int> Heartbeat::silent() const {
  const auto counts = [](Shared& shared) {
    std::vector<int64_t> values;
    for (int rank = 0; rank < shared.world; ++rank) values.push_back(shared.store->add(beat_key(rank), 0));
    return values;
  };
  std::promise<std::vector<int>> promise;
  std::future<std::vector<int>> answer = promise.get_future();
  auto look = [shared = shared_, counts, promise = std::move(promise)]() mutable {
    try {
      const std::vector<int64_t> before = counts(*shared);
      std::this_thread::sleep_for(5 * kBeat);
      const std::vector<int64_t> after = counts(*shared);
      std::vector<int> ranks;
      for (int rank = 0; rank < shared->world; ++rank)
        if (after[static_cast<size_t>(rank)] == before[static_cast<size_t>(rank)]) ranks.push_back(rank);
      promise.set_value(ranks);
    } catch (const std::exception&) {
      promise.set_value({0});
    }
  };
  try {
    start_thread("that looks who is silent", std::move(look)).detach();
  } catch (const std::runtime_error&) {
    return {};  // the error that is being reported says more than a thread that could not start
  }
  return answer.wait_for(8 * kBeat) == std::future_status::ready ? answer.get() : std::vector<int>{0};
}

namespace {

/// While the store answers.
void rendezvous_in_store(const StorePtr& store, const Launch& launch, const WaitOptions& wait) {
  const std::string address = way_to_master(launch).to;
  store->set(came_key(launch.rank), std::vector<uint8_t>(address.begin(), address.end()));
  RendezvousTimeout timeout(wait);
  Pulse pulse(launch.world);
  while (true) {
    std::vector<int> missing;
    for (int rank = 0; rank < launch.world; ++rank)
      if (!store->check({came_key(rank)})) missing.push_back(rank);
    if (missing.empty()) return;
    const std::vector<int> stopped = pulse.stopped(*store, missing);
    if (!stopped.empty()) throw LostRank(fmt::format("{} was lost before all processes had come", ranks_text(stopped)));
    timeout.wait(fmt::format("{} of {}", ranks_text(missing), launch.world));
  }
}

}  // namespace

// In a thread that is left behind where the store does not answer: its server reads one command after the other, and
// waits for the rest of one that a stranger has begun.
void rendezvous(const StorePtr& store, const Launch& launch, const WaitOptions& wait) {
  std::packaged_task<void()> task([=] { rendezvous_in_store(store, launch, wait); });
  std::future<void> met = task.get_future();
  start_thread("for the rendezvous", std::move(task)).detach();
  constexpr double kGrace = 1;  // where the store answers, the thread ends by itself and says who is missing
  const Stopwatch watch;
  for (double since = -1; met.wait_for(50ms) != std::future_status::ready;) {
    const double now = watch.seconds();
    const bool stopped = wait.cancel.requested();
    if (since < 0 && (stopped || now > wait.peer_timeout)) since = now;
    if (since < 0 || now - since < kGrace) continue;
    const std::string who = fmt::format("the store of rank 0 at {}:{}", launch.address, launch.port);
    throw LostRank(stopped ? fmt::format("stopped while waiting for {}", who)
                           : fmt::format("{} did not answer within {:g} s (--peer-timeout)", who, wait.peer_timeout));
  }
  met.get();
}

std::string own_address(const StorePtr& store, const Launch& launch) {
  if (launch.rank > 0) return way_to_master(launch).from;
  for (int rank = 1; rank < launch.world; ++rank) {
    const std::vector<uint8_t> bytes = store->get(came_key(rank));
    const std::string address(bytes.begin(), bytes.end());
    if (!address.empty() && !address.starts_with("127.") && address != "::1") return address;
  }
  return way_to_master(launch).from;
}

}  // namespace fib::training
