// SPDX-License-Identifier: Apache-2.0
// A terminal in the place of stderr, to see what a person there would.
#pragma once

#include <fcntl.h>
#include <pty.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace fib::test {

class Terminal {
 public:
  explicit Terminal(unsigned short columns) : before_(::dup(STDERR_FILENO)) {
    winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    int behind = -1;
    if (::openpty(&screen_, &behind, nullptr, nullptr, &size) != 0)
      throw std::runtime_error("no terminal to be had (openpty): is /dev/pts mounted?");
    ::fcntl(screen_, F_SETFL, O_NONBLOCK);
    ::dup2(behind, STDERR_FILENO);
    ::close(behind);
  }
  ~Terminal() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
    ::close(screen_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// Everything that has been written so far.
  std::string written() {
    std::fflush(stderr);
    std::array<char, 4096> buffer{};
    for (ssize_t got = 0; (got = ::read(screen_, buffer.data(), buffer.size())) > 0;)
      written_.append(buffer.data(), static_cast<size_t>(got));
    return written_;
  }

 private:
  int before_, screen_ = -1;
  std::string written_;
};

/// Removes what stands in the line and begins it again.
inline const std::string kClearLine = "\r\033[K";

}  // namespace fib::test
