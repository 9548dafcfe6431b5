// SPDX-License-Identifier: Apache-2.0
#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "few_threads.h"
#include "files.h"

namespace fib {
namespace {

TEST(ParallelTasks, every_task_runs_once_for_any_number_of_threads) {
  const int before = omp_get_max_threads();
  for (int threads : {1, 2, 7}) {
    omp_set_num_threads(threads);
    for (int64_t count : {0, 1, 3, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(count));
      parallel_tasks(count, [&](int64_t i) { ++runs[static_cast<size_t>(i)]; });
      for (const auto& r : runs) EXPECT_EQ(r.load(), 1);
    }
  }
  omp_set_num_threads(before);
}

TEST(ParallelTasks, an_exception_reaches_the_caller) {
  EXPECT_THROW(parallel_tasks(100,
                              [](int64_t i) {
                                if (i == 37) throw std::runtime_error("task 37");
                              }),
               std::runtime_error);
}

TEST(ParallelTasks, tasks_within_tasks_run_in_place) {
  std::atomic<int64_t> sum{0};
  parallel_tasks(10, [&](int64_t i) { parallel_tasks(10, [&](int64_t j) { sum += i * 10 + j; }); });
  EXPECT_EQ(sum.load(), 4950);
}

TEST(RequireThreads, grants_what_there_is_and_names_what_there_is_not) {
  EXPECT_NO_THROW(require_threads(1));
  EXPECT_NO_THROW(require_threads(8));
  if (test::kSanitized) GTEST_SKIP() << "sanitizers need the memory that is taken away here";
  std::string error;
  {
    const test::FewThreads limited;
    error = test::error_of([] { require_threads(1000); });
  }
  EXPECT_TRUE(test::mentions(error, "cannot start 1000 threads: after ")) << error;
}

TEST(AwakeThreads, carry_out_every_task_once_round_after_round) {
  std::vector<std::atomic<int>> done(97);
  with_awake_threads([&] {
    for (int round = 0; round < 200; ++round) {
      parallel_tasks(97, [&](int64_t i) {
        // Tasks that divide their own work find the others busy.
        parallel_tasks(1, [&](int64_t) { ++done[static_cast<size_t>(i)]; });
      });
    }
  });
  for (const auto& count : done) EXPECT_EQ(count.load(), 200);
}

TEST(AwakeThreads, hand_on_what_a_task_throws) {
  EXPECT_THROW(with_awake_threads([] {
                 parallel_tasks(9, [](int64_t i) {
                   if (i == 5) throw std::runtime_error("five");
                 });
               }),
               std::runtime_error);
}

}  // namespace
}  // namespace fib
