// SPDX-License-Identifier: Apache-2.0
// fib in the background, to be interrupted.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "free_port.h"

namespace fib::test {

/// Starts fib with these arguments in the background.
inline pid_t start(const std::string& arguments, const std::string& environment = "") {
  const pid_t child = ::fork();
  if (child != 0) return child;
  const std::string command = environment + " exec " FIB_BINARY " " + arguments + " >/dev/null 2>&1";
  ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  ::_exit(127);
}

inline int wait_for(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

inline size_t lines_of(const std::string& file) {
  std::ifstream in(file);
  return static_cast<size_t>(std::count(std::istreambuf_iterator<char>(in), {}, '\n'));
}

/// Until the run has written that many lines of metrics, or a minute has passed.
inline void wait_for_lines(const std::string& file, size_t lines) {
  for (int i = 0; i < 6000 && lines_of(file) < lines; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

inline bool somebody_listens(int port) {
  const sockaddr_in address = loopback(port);
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool there = ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(socket);
  return there;
}

/// Until somebody listens on that port of this host, or a minute has passed.
inline void wait_for_listener(int port) {
  for (int i = 0; i < 6000 && !somebody_listens(port); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

}  // namespace fib::test
