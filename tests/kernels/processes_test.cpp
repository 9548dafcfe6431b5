// SPDX-License-Identifier: Apache-2.0
// Who calls does not matter: many threads at once, and children after fork(), as the workers of data loaders are.
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "oracle/case_run.h"

namespace fib::test {
namespace {

/// A case, and what it gives.
struct Known {
  AttentionCase c{.batch = 2, .heads = 3, .patches = 150, .cls = 1, .dim = 32, .value_dim = 32};
  SupportSet support = c.make_support();
  OracleProblem problem = make_problem(c, support);
  std::vector<double> grad_out = make_grad_out(problem.shape);
  std::vector<double> compute() const { return run_case<float>(c, problem, grad_out).all(); }
};

TEST(Callers, ten_threads_at_once_get_the_same_bits) {
  const Known known;
  const std::vector<double> alone = known.compute();
  std::vector<std::vector<double>> results(10);
  std::vector<std::thread> threads;
  for (auto& result : results)
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) result = known.compute();
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(max_difference(result, alone), 0.0);
}

/// The child's exit code; 128 and a signal where it had to be ended.
template <class Body>
int in_child(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body() ? 0 : 1);
  int status = 0;
  for (int i = 0; i < 2000; ++i) {
    if (::waitpid(child, &status, WNOHANG) == child)
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return 128 + SIGKILL;
}

TEST(Callers, a_child_after_fork_gets_the_same_bits_and_does_not_wait_for_threads_it_has_not) {
  const Known known;
  const int before = omp_get_max_threads();
  omp_set_num_threads(4);
  const std::vector<double> parents = known.compute();
  const auto same = [&] { return max_difference(known.compute(), parents) == 0.0; };
  EXPECT_EQ(in_child(same), 0);
  EXPECT_EQ(in_child([&] { return in_child(same) == 0; }), 0) << "a child of a child";
  EXPECT_TRUE(same()) << "and the parent goes on";
  omp_set_num_threads(before);
}

}  // namespace
}  // namespace fib::test
