// SPDX-License-Identifier: Apache-2.0
#include "base/system.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <optional>
#include <string_view>

#include "base/text.h"

namespace fib {
namespace {

constexpr std::array<std::string_view, 5> kNames{"write", "sync", "rename", "memory", "thread"};

struct Plan {
  SystemRequest request;
  int64_t first;
  bool later_too;
  std::string marker;
};

/// REQUEST:N, REQUEST:N+, either with :FILE behind it.
std::optional<Plan> parse(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto name = std::find(kNames.begin(), kNames.end(), text.substr(0, colon));
  if (name == kNames.end()) return std::nullopt;
  Plan plan{static_cast<SystemRequest>(name - kNames.begin()), 0, false, {}};
  text.remove_prefix(colon + 1);
  std::string_view number = text.substr(0, text.find(':'));
  if (number.size() < text.size()) plan.marker = text.substr(number.size() + 1);
  plan.later_too = number.ends_with('+');
  if (plan.later_too) number.remove_suffix(1);
  const auto first = parse_number<int64_t>(number);
  if (!first || *first < 1) return std::nullopt;
  plan.first = *first;
  return plan;
}

std::optional<Plan> plan_of_environment() {
  const char* const text = std::getenv("FIB_FAIL");
  if (text == nullptr) return std::nullopt;
  const auto plan = parse(text);
  if (!plan)
    throw std::invalid_argument(std::string("FIB_FAIL=") + text +
                                ": accepted are write, sync, rename, memory or thread with :N or :N+");
  return plan;
}

const std::optional<Plan>& plan() {
  static const std::optional<Plan> read = plan_of_environment();
  return read;
}

void leave_marker(const std::string& file) {
  if (file.empty()) return;
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor >= 0) ::close(descriptor);
}

}  // namespace

bool refused_by_test(SystemRequest request) {
  if (!plan() || plan()->request != request) return false;
  static std::atomic<int64_t> counted{0};
  const int64_t number = ++counted;
  const bool refused = number == plan()->first || (plan()->later_too && number > plan()->first);
  if (refused) leave_marker(plan()->marker);
  return refused;
}

ssize_t write_some(int descriptor, const void* data, size_t bytes) {
  if (!refused_by_test(SystemRequest::write)) return ::write(descriptor, data, bytes);
  [[maybe_unused]] const ssize_t half = ::write(descriptor, data, bytes / 2);
  errno = ENOSPC;
  return -1;
}

int sync_file(int descriptor) {
  if (!refused_by_test(SystemRequest::sync)) return ::fsync(descriptor);
  errno = EIO;
  return -1;
}

int rename_file(const char* from, const char* to) {
  if (!refused_by_test(SystemRequest::rename)) return std::rename(from, to);
  errno = EIO;
  return -1;
}

void* allocate_aligned(size_t alignment, size_t bytes) {
  const size_t whole = (bytes + alignment - 1) / alignment * alignment;
  void* const memory =
      whole < bytes || refused_by_test(SystemRequest::memory) ? nullptr : std::aligned_alloc(alignment, whole);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace fib
