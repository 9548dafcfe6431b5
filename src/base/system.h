// SPDX-License-Identifier: Apache-2.0
// What the system may refuse: writing, syncing and renaming files, large buffers, threads. All of it passes here, so
// that a test can refuse the Nth request and look at what is left (as SQLite tests itself).
//
// FIB_FAIL=write:3 refuses the third write, write:3+ that and all later ones; so do sync, rename, memory and thread.
// With write:3:FILE that file is made when the request is refused. Without the variable nothing is counted.
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace fib {

enum class SystemRequest { write, sync, rename, memory, thread };

/// Counts a request, and says whether a test refuses it. For libraries that write by themselves: ask before the call.
bool refused_by_test(SystemRequest request);

/// As the functions of POSIX; a refused write has written half of its bytes first.
ssize_t write_some(int descriptor, const void* data, size_t bytes);
int sync_file(int descriptor);
int rename_file(const char* from, const char* to);

/// std::aligned_alloc, which throws std::bad_alloc where there is no memory; to be freed by std::free. `bytes` is
/// rounded up to the alignment.
void* allocate_aligned(size_t alignment, size_t bytes);

/// Throws std::system_error where the system, or a test, grants no thread.
template <class Work>
std::thread start_unnamed_thread(Work&& work) {
  if (refused_by_test(SystemRequest::thread)) throw std::system_error(EAGAIN, std::generic_category());
  return std::thread(std::forward<Work>(work));
}

/// The same, with what the thread is for: the system's own words are "Resource temporarily unavailable". Throws
/// std::runtime_error with one line; `purpose` goes on after "cannot start a thread ".
template <class Work>
std::thread start_thread(const char* purpose, Work&& work) try {
  return start_unnamed_thread(std::forward<Work>(work));
} catch (const std::exception& error) {  // of the system, or for want of memory
  throw std::runtime_error(std::string("cannot start a thread ") + purpose + ": the system said '" + error.what() +
                           "'");
}

}  // namespace fib
