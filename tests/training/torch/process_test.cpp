// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "files.h"
#include "free_port.h"
#include "training/torch/process_group.h"
#include "training/torch/reducer.h"

namespace fib::training {
namespace {

using test::error_of;
using test::free_port;
using test::mentions;

/// Runs `body` in two processes and tells whether both returned true. They are forked before torch starts any thread
/// here.
bool both(const std::function<bool(const Launch&)>& body) {
  Launch launch{.world = 2, .local_world = 2, .port = free_port()};
  std::vector<pid_t> children;
  for (launch.rank = 0; launch.rank < 2; ++launch.rank) {
    children.push_back(::fork());
    if (children.back() == 0) {
      at::set_num_threads(1);
      bool good = false;
      const std::string error = error_of([&] { good = body(launch); });
      if (!error.empty()) std::fprintf(stderr, "rank %d: %s\n", launch.rank, error.c_str());
      ::_exit(good ? 0 : 1);
    }
  }
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
    return static_cast<bool>(mentions(error, "another process of this run is gone"));
  }));
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
