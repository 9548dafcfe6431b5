// SPDX-License-Identifier: Apache-2.0
#include "base/system.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "base/atomic_file.h"
#include "files.h"

namespace fib {
namespace {

using test::error_of;
using test::mentions;

/// The environment is read once, hence a process of its own.
template <class Body>
void expect_in_child(const char* fail, Body body) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";  // a new process, not a copy of this one
  EXPECT_EXIT(
      {
        ::setenv("FIB_FAIL", fail, 1);
        std::exit(body() ? 0 : 1);
      },
      testing::ExitedWithCode(0), "")
      << fail;
}

TEST(System, refuses_nothing_unless_asked_to) {
  for (const auto request : {SystemRequest::write, SystemRequest::memory, SystemRequest::thread})
    EXPECT_FALSE(refused_by_test(request));
}

TEST(System, refuses_the_nth_request_once_or_from_then_on) {
  const auto refusals = [](SystemRequest request) {
    std::string seen;
    for (int i = 0; i < 5; ++i) seen += refused_by_test(request) ? 'x' : '.';
    return seen;
  };
  expect_in_child("sync:2", [&] { return refusals(SystemRequest::sync) == ".x..."; });
  expect_in_child("sync:2+", [&] { return refusals(SystemRequest::sync) == ".xxxx"; });
  expect_in_child("sync:2", [&] { return refusals(SystemRequest::write) == "....."; });
}

TEST(System, a_wrong_request_is_named) {
  for (const char* wrong : {"write", "write:0", "write:x", "paint:1", ":1"})
    expect_in_child(wrong, [] {
      return mentions(error_of([] { refused_by_test(SystemRequest::write); }), "accepted are write, sync, rename");
    });
}

TEST(System, a_refused_write_sync_or_rename_keeps_the_old_file) {
  for (const char* fail : {"write:1", "sync:1", "rename:1"}) {
    expect_in_child(fail, [] {
      const test::TemporaryDirectory dir;
      test::write_file(dir / "a", "old");
      const std::string error = error_of([&] { write_file_atomically(dir / "a", "something new"); });
      return mentions(error, "cannot write") && test::read_file(dir / "a") == "old" && dir.entries() == 1;
    });
  }
}

TEST(System, a_library_s_file_appears_by_its_commit_alone) {
  const test::TemporaryDirectory dir;
  test::write_file(dir / "a", "old");
  {
    const AtomicName name(dir / "a");
    test::write_file(name.temporary(), "new");
  }
  EXPECT_EQ(test::read_file(dir / "a"), "old");
  AtomicName name(dir / "a");
  test::write_file(name.temporary(), "new");
  name.commit();
  EXPECT_EQ(test::read_file(dir / "a"), "new");
  EXPECT_EQ(dir.entries(), 1u);
}

TEST(System, memory_and_threads_that_are_refused_are_errors) {
  EXPECT_THROW(allocate_aligned(64, std::numeric_limits<size_t>::max()), std::bad_alloc);
  expect_in_child("memory:1", [] { return error_of([] { allocate_aligned(64, 64); }) == std::bad_alloc().what(); });
  expect_in_child("thread:1", [] {
    return mentions(error_of([] { start_thread("that tests", [] {}).join(); }), "cannot start a thread that tests");
  });
}

}  // namespace
}  // namespace fib
