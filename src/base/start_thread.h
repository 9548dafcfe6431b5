// SPDX-License-Identifier: Apache-2.0
// A thread whose failure to start says what it was for: the system's own words are "Resource temporarily unavailable".
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <thread>
#include <utility>

namespace fib {

/// Throws std::runtime_error with one line; `purpose` goes on after "cannot start a thread ".
template <class Work>
std::thread start_thread(const char* purpose, Work&& work) try {
  return std::thread(std::forward<Work>(work));
} catch (const std::exception& error) {  // of the system, or for want of memory
  throw std::runtime_error(fmt::format("cannot start a thread {}: the system said '{}'", purpose, error.what()));
}

}  // namespace fib
