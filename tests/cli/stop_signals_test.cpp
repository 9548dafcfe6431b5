// SPDX-License-Identifier: Apache-2.0
#include "cli/stop_signals.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "terminal.h"

namespace fib::cli {
namespace {

/// timeout(1) sends a signal twice, to the program and to its group.
TEST(StopSignals, request_a_cancellation_with_the_first_and_pass_over_its_echo) {
  CancelSource source;
  const StopSignals signals(source);
  const CancelToken token = source.token();
  EXPECT_FALSE(token.requested());
  std::raise(SIGTERM);
  std::raise(SIGTERM);
  std::raise(SIGINT);
  EXPECT_EQ(token.signal(), SIGTERM);
}

TEST(StopSignals, say_so_in_a_line_of_their_own) {
  test::Terminal terminal(80);
  CancelSource source;
  const StopSignals signals(source, "stopping\n");
  std::raise(SIGTERM);
  EXPECT_EQ(terminal.written(), test::kClearLine + "stopping\r\n") << "over a progress bar";
}

/// Of two that follow each other the second begins anew.
TEST(StopSignals, of_the_one_that_lives_are_told) {
  CancelSource first, second;
  {
    const StopSignals signals(first);
    std::raise(SIGINT);
  }
  const StopSignals signals(second);
  EXPECT_FALSE(second.token().requested());
  std::raise(SIGTERM);
  EXPECT_EQ(first.token().signal(), SIGINT);
  EXPECT_EQ(second.token().signal(), SIGTERM);
}

/// How a process ends that gets SIGINT again and again.
int ending_of_an_impatient_person() {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    CancelSource source;
    const StopSignals signals(source);
    for (;;) {
      std::raise(SIGINT);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

TEST(StopSignals, end_the_program_when_the_wish_is_repeated) {
  const int status = ending_of_an_impatient_person();
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);
}

TEST(StopSignals, are_as_before_once_it_is_over) {
  {
    CancelSource source;
    const StopSignals signals(source);
  }
  EXPECT_EXIT(std::raise(SIGTERM), testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace fib::cli
