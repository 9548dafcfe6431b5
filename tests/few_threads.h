// SPDX-License-Identifier: Apache-2.0
// A system that grants few threads, for the length of a scope.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace fib::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

/// Leaves address space for the stacks of a few more threads. (The number of a user's processes is no limit for root.)
class FewThreads {
 public:
  FewThreads() {
    ::getrlimit(RLIMIT_AS, &before_);
    std::ifstream statm("/proc/self/statm");
    rlim_t pages = 0;
    statm >> pages;
    const rlim_t room = rlim_t{1} << 28;
    const rlimit few{pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + room, before_.rlim_max};
    ::setrlimit(RLIMIT_AS, &few);
  }
  ~FewThreads() { ::setrlimit(RLIMIT_AS, &before_); }
  FewThreads(const FewThreads&) = delete;
  FewThreads& operator=(const FewThreads&) = delete;

 private:
  rlimit before_{};
};

}  // namespace fib::test
