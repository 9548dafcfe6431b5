// SPDX-License-Identifier: Apache-2.0
// Several processes that do not belong together, and strangers at the port where they meet. Loopback only.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "background.h"
#include "cli/run_fib.h"
#include "files.h"
#include "free_port.h"
#include "tiny_mnist.h"

namespace {

using fib::test::free_port;
using fib::test::loopback;
using fib::test::mentions;
using fib::test::read_file;
using fib::test::wait_for;

/// Connects again and again, says something and stays, as long as it lives.
class Strangers {
 public:
  Strangers(int port, std::string words) : thread_([=, this, words = std::move(words)] { visit(port, words); }) {}
  ~Strangers() {
    over_ = true;
    thread_.join();
    for (const int s : open_) ::close(s);
  }
  Strangers(const Strangers&) = delete;
  Strangers& operator=(const Strangers&) = delete;

 private:
  void visit(int port, const std::string& words) {
    const sockaddr_in address = loopback(port);
    while (!over_) {
      const int s = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      const bool there = ::connect(s, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
      if (there) ::send(s, words.data(), words.size(), MSG_NOSIGNAL);
      if (there && open_.size() < 50)
        open_.push_back(s);
      else
        ::close(s);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  std::atomic<bool> over_{false};
  std::vector<int> open_;
  std::thread thread_;
};

/// Beside those that c10d writes about its sockets.
int64_t lines_of_fib(const std::string& log) {
  int64_t count = 0;
  for (size_t at = log.find("fib: "); at != std::string::npos; at = log.find("\nfib: ", at + 1)) ++count;
  return count;
}

/// Somebody else's server: accepts, and says nothing.
class Squatter {
 public:
  explicit Squatter(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in address = loopback(port);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(socket_, 50), 0);
  }
  ~Squatter() { ::close(socket_); }
  Squatter(const Squatter&) = delete;
  Squatter& operator=(const Squatter&) = delete;

 private:
  int socket_;
};

class SeveralProcesses : public testing::Test {
 protected:
  void SetUp() override { fib::test::write_tiny_mnist(directory_ / "data"); }
  std::string path(const std::string& name) const { return directory_ / name; }
  std::string log(int rank) const { return read_file(directory_ / ("log" + std::to_string(rank))); }

  pid_t begin(int rank, int port, const std::string& run, const std::string& more = "") const {
    const pid_t child = ::fork();
    if (child != 0) return child;
    const std::string command =
        "WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(port) +
        " RANK=" + std::to_string(rank) +
        " exec " FIB_BINARY " train --quiet --model vit_nano_patch2_28 --data mnist:" + path("data") +
        " --validation-fraction 0.2 --batch 16 --epochs 1 --workers 1 --threads 1 --checkpoint-every 1" +
        " --log-every 1 --out " + path(run) + " " + more +
        (more.find("--peer-timeout") == std::string::npos ? " --peer-timeout 5" : "") + " >/dev/null 2>" +
        path("log" + std::to_string(rank));
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  /// Both ranks' exit codes.
  std::vector<int> both(int port, const std::string& run, const std::string& more_of_second = "") const {
    const pid_t first = begin(0, port, run), second = begin(1, port, run, more_of_second);
    return {wait_for(first), wait_for(second)};
  }
  void expect_one_line(int rank, const std::string& part) const {
    EXPECT_TRUE(mentions(log(rank), part));
    EXPECT_EQ(lines_of_fib(log(rank)), 1) << log(rank);
  }
  void expect_same(const std::string& run) const {
    for (const char* file : {"model.safetensors", "metrics.jsonl"})
      EXPECT_TRUE(read_file(directory_ / "whole" / file) == read_file(directory_.path() / run / file)) << run << file;
  }

  fib::test::TemporaryDirectory directory_;
};

TEST_F(SeveralProcesses, with_different_recipes_do_not_begin) {
  EXPECT_EQ(both(free_port(), "run", "--lr 0.5"), (std::vector<int>{2, 2}));
  expect_one_line(0, "rank 1 cannot take part in this run: another build, or asked for another recipe");
  expect_one_line(1, "process 1 cannot take part in this run: lr = 0.5 (process 0 has");
  EXPECT_FALSE(std::filesystem::exists(path("run/config.toml")));
}

TEST_F(SeveralProcesses, go_on_whatever_strangers_send) {
  ASSERT_EQ(both(free_port(), "whole"), (std::vector<int>{0, 0})) << log(0) << log(1);
  const std::string noise = "\x93\xe7 these are no commands \xff\xff\xff\xff";
  int number = 0;
  for (const std::string& words : {std::string(), std::string("GET / HTTP/1.1\r\nHost: here\r\n\r\n"), noise}) {
    const int port = free_port();
    const Strangers strangers(port, words);
    const std::string run = "visited" + std::to_string(number++);
    EXPECT_EQ(both(port, run), (std::vector<int>{0, 0})) << log(0) << log(1);
    expect_same(run);
  }
}

/// The server of LibTorch's store waits for the rest of it; without --peer-timeout the processes would wait for ever.
TEST_F(SeveralProcesses, end_where_a_stranger_sends_half_a_command) {
  const int port = free_port();
  const Strangers strangers(port, std::string(1, '\0'));
  for (const int code : both(port, "run")) EXPECT_TRUE(code == 0 || code == 1) << code;
  for (const int rank : {0, 1}) EXPECT_LE(std::ranges::count(log(rank), '\n'), 1) << log(rank);
}

/// The store's connection is reset then, and a thread of LibTorch's throws where nothing catches it.
TEST_F(SeveralProcesses, end_in_one_line_where_the_first_ends_while_another_waits_for_its_store) {
  const int port = free_port();
  const Strangers strangers(port, std::string(1, '\0'));
  for (const int code : both(port, "run", "--peer-timeout 60")) EXPECT_TRUE(code == 0 || code == 1) << code;
  for (const int rank : {0, 1}) EXPECT_LE(std::ranges::count(log(rank), '\n'), 1) << log(rank);
}

TEST_F(SeveralProcesses, say_that_the_port_is_taken) {
  const int port = free_port();
  const Squatter squatter(port);
  EXPECT_EQ(wait_for(begin(0, port, "run")), 1);
  expect_one_line(0, "could not start together");
  EXPECT_TRUE(mentions(log(0), std::to_string(port)));
  EXPECT_EQ(wait_for(begin(1, port, "run")), 1);
  expect_one_line(1, "the store of rank 0 at 127.0.0.1:" + std::to_string(port) + " did not answer within 5 s");
}

/// A step that takes longer than who stops the run waits, as timeout -k does: the checkpoint before it is what counts.
TEST_F(SeveralProcesses, that_are_killed_in_the_step_which_a_signal_should_end_resume_to_the_same_bits) {
  ASSERT_EQ(both(free_port(), "whole"), (std::vector<int>{0, 0})) << log(0) << log(1);
  const int port = free_port();
  const std::vector<pid_t> children{begin(0, port, "cut"), begin(1, port, "cut")};
  fib::test::wait_for_lines(path("cut/metrics.jsonl"), 2);
  for (const pid_t child : children) ::kill(child, SIGTERM);
  for (const pid_t child : children) ::kill(child, SIGKILL);
  for (const pid_t child : children) wait_for(child);
  const int again = free_port();
  const std::vector<pid_t> resumed{begin(0, again, "cut", "--resume"), begin(1, again, "cut", "--resume")};
  for (const pid_t child : resumed) EXPECT_EQ(wait_for(child), 0) << log(0) << log(1);
  expect_same("cut");
}

}  // namespace
