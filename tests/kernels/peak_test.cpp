// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "fibottention/attention.h"
#include "kernels/machine.h"
#include "kernels/tiles.h"

namespace fib::test {
namespace {

TEST(Peak, counts_what_was_multiplied) {
  const kernels::MultiplyFunction loop = kernels::peak_of_target(kernels::chosen_target()).multiply;
  EXPECT_GT(loop(1), 0);
  EXPECT_EQ(loop(100), 100 * loop(1));
}

/// As where two threads begin on one core: the first tries are slow. On a busy machine all of a tenth of a second may
/// be, so that it is asked for more than once.
TEST(Peak, is_tried_until_threads_no_longer_share_a_core) {
  constexpr int kSlowTasks = 2 * 11;
  double least = 1;
  for (int attempt = 0; attempt < 50 && least >= 0.001; ++attempt) {
    std::atomic<int> tasks{0};
    least = kernels::least_seconds(2, [&](int64_t) {
      if (tasks++ < kSlowTasks) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  }
  EXPECT_LT(least, 0.001);
}

TEST(Peak, reads_every_value_as_often_as_asked) {
  alignas(128) float values[2 * kernels::kReadAtOnce];
  for (float& value : values) value = 1.0f;
  for (const std::string& target : simd_targets()) {
    set_simd_target(target);
    EXPECT_EQ(kernels::peak_of_target(kernels::chosen_target()).read(values, std::size(values), 3),
              3.0f * std::size(values))
        << target;
  }
  set_simd_target("");
}

}  // namespace
}  // namespace fib::test
