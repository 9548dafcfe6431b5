// SPDX-License-Identifier: Apache-2.0
#include "base/read_file.h"

#include <sys/stat.h>

#include <thread>

#include "files.h"

namespace fib {
namespace {

using test::error_of;
using test::mentions;
using test::TemporaryDirectory;
using test::write_file;

TEST(ReadFile, gives_what_fits_whole) {
  TemporaryDirectory dir;
  for (const size_t size : {0, 1, 65535, 65536, 65537, 200'000}) {
    write_file(dir / "a", std::string(size, 'x'));
    EXPECT_EQ(fib::read_file(dir / "a", 200'000), std::string(size, 'x')) << size;
  }
}

TEST(ReadFile, refuses_what_is_longer_than_accepted) {
  TemporaryDirectory dir;
  write_file(dir / "a", std::string(65537, 'x'));
  EXPECT_TRUE(mentions(error_of([&] { fib::read_file(dir / "a", 65536); }), "a': it is longer than the 65536 bytes"));
  EXPECT_TRUE(mentions(error_of([&] { fib::read_file(dir / "a", 0); }), "longer than the 0 bytes"));
}

TEST(ReadFile, ends_on_a_device_that_does_not) {
  EXPECT_TRUE(
      mentions(error_of([] { fib::read_file("/dev/zero", kMaxRecipeBytes); }), "'/dev/zero': it is longer than"));
}

TEST(ReadFile, reads_a_pipe_to_its_end) {
  TemporaryDirectory dir;
  ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
  std::thread writer([&] { write_file(dir / "pipe", std::string(100'000, 'x')); });
  EXPECT_EQ(fib::read_file(dir / "pipe", 200'000).size(), 100'000U);
  writer.join();
}

TEST(ReadFile, names_the_file_and_the_reason) {
  TemporaryDirectory dir;
  EXPECT_TRUE(mentions(error_of([&] { fib::read_file(dir / "none", 10); }), "none': No such file or directory"));
  EXPECT_TRUE(mentions(error_of([&] { fib::read_file(dir.path(), 10); }), "Is a directory"));
}

}  // namespace
}  // namespace fib
