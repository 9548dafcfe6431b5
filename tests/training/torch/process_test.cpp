// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <thread>

#include "few_threads.h"
#include "files.h"
#include "free_port.h"
#include "training/torch/process_group.h"
#include "training/torch/reducer.h"

namespace fib::training {
namespace {

using test::error_of;
using test::free_port;
using test::mentions;

/// What a process of `both` does: it is this program, begun anew with this test alone.
[[noreturn]] void take_part(const std::function<bool(const Launch&)>& body, int rank) {
  at::set_num_threads(1);
  const Launch launch{.rank = rank, .world = 2, .local_world = 2, .port = std::stoi(std::getenv("FIB_TEST_PORT"))};
  bool good = false;
  const std::string error = error_of([&] { good = body(launch); });
  if (!error.empty()) std::fprintf(stderr, "rank %d: %s\n", rank, error.c_str());
  ::_exit(good ? 0 : 1);
}

pid_t begin_anew(int rank, int port) {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  const std::string filter = std::string("--gtest_filter=") + test.test_suite_name() + "." + test.name();
  const std::string rank_text = std::to_string(rank), port_text = std::to_string(port);
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::setenv("FIB_TEST_RANK", rank_text.c_str(), 1);
  ::setenv("FIB_TEST_PORT", port_text.c_str(), 1);
  ::execl("/proc/self/exe", "process_test", filter.c_str(), "--gtest_brief=1", nullptr);
  ::_exit(127);
}

/// Runs `body` in two processes and tells whether both returned true. A fork alone would not do: where an earlier test
/// took gradients, torch's threads are missing in it.
bool both(const std::function<bool(const Launch&)>& body) {
  if (const char* rank = std::getenv("FIB_TEST_RANK")) take_part(body, std::stoi(rank));
  const int port = free_port();
  const std::vector<pid_t> children{begin_anew(0, port), begin_anew(1, port)};
  bool good = true;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    good = good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return good;
}

TEST(Launch, without_variables_is_one_process) {
  for (const char* name : {"RANK", "WORLD_SIZE"}) ::unsetenv(name);
  EXPECT_EQ(Launch::from_environment().world, 1);
}

TEST(Launch, names_the_variable_that_is_missing_or_wrong) {
  ::setenv("RANK", "0", 1);
  ::setenv("WORLD_SIZE", "2", 1);
  ::setenv("MASTER_ADDR", "localhost", 1);
  ::unsetenv("MASTER_PORT");
  EXPECT_TRUE(mentions(error_of([] { Launch::from_environment(); }), "MASTER_PORT is missing"));
  ::setenv("MASTER_PORT", "29511", 1);
  EXPECT_EQ(Launch::from_environment().port, 29511);
  ::setenv("RANK", "2", 1);
  EXPECT_TRUE(mentions(error_of([] { Launch::from_environment(); }), "RANK is '2', accepted 0 to 1"));
  for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) ::unsetenv(name);
}

TEST(ProcessGroup, of_one_returns_what_it_is_given) {
  ProcessGroup group;
  const at::Tensor x = at::ones({3});
  group.sum(x);
  group.broadcast(x);
  EXPECT_TRUE(x.equal(at::ones({3})));
  EXPECT_EQ(broadcast_text(group, "text"), "text");
}

TEST(ProcessGroup, of_two_sums_and_broadcasts) {
  EXPECT_TRUE(both([](const Launch& launch) {
    ProcessGroup group(launch);
    const at::Tensor x = at::full({3}, launch.rank + 1.0);
    group.sum(x);
    const bool summed = x.equal(at::full({3}, 3.0));
    return summed && broadcast_text(group, launch.rank == 0 ? "longer text" : "x") == "longer text";
  }));
}

TEST(ProcessGroup, tells_that_another_process_is_gone) {
  EXPECT_TRUE(both([](const Launch& launch) {
    ProcessGroup group(launch);
    group.sum(at::ones({1}));  // both are connected before one leaves
    if (launch.rank == 1) ::_exit(0);
    const std::string error = error_of([&] { group.sum(at::ones({100000})); });
    return static_cast<bool>(mentions(error, "rank 1 was lost"));
  }));
}

TEST(ProcessGroup, waits_for_a_process_that_only_takes_long) {
  EXPECT_TRUE(both([](const Launch& launch) {
    ProcessGroup group(launch, {.peer_timeout = 1});
    if (launch.rank == 1) ::sleep(2);
    const at::Tensor x = at::ones({1});
    group.sum(x);
    return x.item<float>() == 2;
  }));
}

/// A process that is stopped sends no heartbeat, as one whose cable is pulled.
TEST(ProcessGroup, gives_up_a_process_without_a_heartbeat) {
  EXPECT_TRUE(both([](const Launch& launch) {
    ProcessGroup group(launch, {.peer_timeout = 1});
    group.sum(at::ones({1}));
    const at::Tensor pids = at::zeros({2}, at::kLong);
    pids[launch.rank] = static_cast<int64_t>(::getpid());
    group.sum(pids);
    if (launch.rank == 1) return ::raise(SIGSTOP) == 0;
    const std::string error = error_of([&] { group.sum(at::ones({1})); });
    ::kill(static_cast<pid_t>(pids[1].item<int64_t>()), SIGCONT);
    return static_cast<bool>(mentions(error, "rank 1 was lost: no heartbeat within 1 s"));
  }));
}

bool outlive(pid_t process) {
  while (::kill(process, 0) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return true;
}

TEST(ProcessGroup, stops_waiting_when_asked) {
  EXPECT_TRUE(both([](const Launch& launch) {
    CancelSource cancel;
    ProcessGroup group(launch, {.cancel = cancel.token()});
    const at::Tensor pid = at::full({1}, launch.rank == 0 ? static_cast<int64_t>(::getpid()) : 0, at::kLong);
    group.sum(pid);
    if (launch.rank == 1) return outlive(static_cast<pid_t>(pid.item<int64_t>()));
    const std::jthread late([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      cancel.request();
    });
    const std::string error = error_of([&] { group.sum(at::ones({1})); });
    return static_cast<bool>(mentions(error, "stopped while waiting for another process"));
  }));
}

/// In a process of its own: stacks are made so large that hardly one fits into what the system still gives.
TEST(Rendezvous, says_in_one_line_that_threads_cannot_be_made) {
  if (test::kSanitized) GTEST_SKIP() << "a sanitizer needs the address space that is taken away here";
  const Launch launch{.rank = 0, .world = 2, .local_world = 2, .port = free_port()};
  const pid_t child = ::fork();
  if (child == 0) {
    pthread_attr_t large;
    ::pthread_attr_init(&large);
    ::pthread_attr_setstacksize(&large, size_t{1} << 27);
    ::pthread_setattr_default_np(&large);
    const test::FewThreads few;
    const std::string error = error_of([&] { ProcessGroup group(launch, {.peer_timeout = 1}); });
    const bool good = mentions(error, "could not start together (cannot start 9 threads: after") &&
                      mentions(error, "the system said 'Resource temporarily unavailable')");
    if (!good) std::fprintf(stderr, "%s\n", error.c_str());
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(Rendezvous, says_who_is_missing_and_ends_in_time) {
  std::string told;
  const Launch launch{.rank = 0, .world = 3, .local_world = 3, .port = free_port()};
  const std::string error = error_of(
      [&] { ProcessGroup group(launch, {.peer_timeout = 3, .tell = [&](const std::string& l) { told += l; }}); });
  EXPECT_TRUE(mentions(told, "waiting for ranks 1, 2 of 3"));
  EXPECT_TRUE(mentions(error, "ranks 1, 2 of 3 did not come within 3 s"));
}

TEST(Rendezvous, waits_for_the_first_process_and_says_where) {
  const Launch launch{.rank = 1, .world = 2, .local_world = 2, .port = free_port()};
  const std::string error = error_of([&] { ProcessGroup group(launch, {.peer_timeout = 1}); });
  EXPECT_TRUE(mentions(error, "rank 0 at 127.0.0.1:"));
  CancelSource cancel;
  cancel.request();
  const std::string stopped = error_of([&] { ProcessGroup group(launch, {.cancel = cancel.token()}); });
  EXPECT_TRUE(mentions(stopped, "stopped while waiting for rank 0"));
}

/// Rank 1 of three comes and is killed while rank 2 is still missing.
TEST(Rendezvous, notices_a_process_that_was_killed_meanwhile) {
  Launch launch{.rank = 1, .world = 3, .local_world = 3, .port = free_port()};
  const pid_t child = ::fork();
  if (child == 0) {
    error_of([&] { ProcessGroup group(launch); });
    ::_exit(0);
  }
  launch.rank = 0;
  std::string told;
  const auto tell = [&](const std::string& line) {
    told += line;
    if (mentions(line, "waiting for rank 2")) ::kill(child, SIGKILL);
  };
  const std::string error = error_of([&] { ProcessGroup group(launch, {.peer_timeout = 30, .tell = tell}); });
  EXPECT_TRUE(mentions(error, "rank 1 was lost before all processes had come")) << told;
  int status = 0;
  ::waitpid(child, &status, 0);
}

struct TwoLayers : torch::nn::Module {
  TwoLayers() {
    torch::manual_seed(1);
    first = register_module("first", torch::nn::Linear(8, 8));
    unused = register_module("unused", torch::nn::Linear(2, 2));
    last = register_module("last", torch::nn::Linear(8, 4));
  }
  torch::nn::Linear first{nullptr}, unused{nullptr}, last{nullptr};
};

at::Tensor gradients(TwoLayers& net, FlatParameters& flat, GradientReducer& reducer, const at::Tensor& x) {
  flat.zero_gradients();
  reducer.arm();
  net.last(net.first(x).tanh()).pow(2).sum().backward();
  reducer.finish();
  return flat.gradients().clone();
}

TEST(GradientReducer, sums_what_each_process_found_bucket_by_bucket) {
  EXPECT_TRUE(both([](const Launch& launch) {
    ProcessGroup group(launch), alone;
    torch::manual_seed(9);
    const at::Tensor whole = torch::randn({6, 8});
    TwoLayers net, reference;
    FlatParameters flat(net), reference_flat(reference);
    GradientReducer reducer(flat, group, 16), none(reference_flat, alone);
    bool good = reducer.buckets() >= 3;
    for (int i = 0; i < 3; ++i) {
      const at::Tensor ours = gradients(net, flat, reducer, whole.narrow(0, launch.rank * 3, 3));
      good = good && ours.allclose(gradients(reference, reference_flat, none, whole), 1e-5, 1e-6);
    }
    return good;
  }));
}

}  // namespace
}  // namespace fib::training
