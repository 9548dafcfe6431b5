// SPDX-License-Identifier: Apache-2.0
#include "cli/stop_signals.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "terminal.h"

using fib::cli::StopSignals;

TEST(StopSignals, note_the_first_and_its_echo) {
  const StopSignals signals;
  EXPECT_EQ(StopSignals::received(), 0);
  std::raise(SIGTERM);
  std::raise(SIGTERM);
  std::raise(SIGINT);
  EXPECT_EQ(StopSignals::received(), SIGTERM);
}

TEST(StopSignals, say_so_in_a_line_of_their_own) {
  fib::test::Terminal terminal(80);
  const StopSignals signals("stopping\n");
  std::raise(SIGTERM);
  EXPECT_EQ(terminal.written(), fib::test::kClearLine + "stopping\r\n") << "over a progress bar";
}

TEST(StopSignals, end_the_program_when_the_wish_is_repeated) {
  const pid_t child = fork();
  if (child == 0) {
    const StopSignals signals;
    std::raise(SIGINT);
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    std::raise(SIGINT);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);
}
