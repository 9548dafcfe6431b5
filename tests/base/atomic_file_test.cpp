// SPDX-License-Identifier: Apache-2.0
#include "base/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "files.h"

namespace fib {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using test::mentions;
using test::read_file;
using test::TemporaryDirectory;
using test::write_file;

TEST(AtomicFile, appears_complete_after_commit_and_leaves_no_temporary) {
  TemporaryDirectory dir;
  {
    AtomicFile file(dir / "a.txt");
    file.stream() << "one " << 2;
    file.write(" three", 6);
    EXPECT_FALSE(fs::exists(dir / "a.txt"));
    file.commit();
  }
  EXPECT_EQ(read_file(dir / "a.txt"), "one 2 three");
  EXPECT_EQ(dir.entries(), 1u);
}

TEST(AtomicFile, without_commit_leaves_nothing_and_keeps_the_old_content) {
  TemporaryDirectory dir;
  write_file(dir / "old.txt", "old");
  { AtomicFile(dir / "old.txt").stream() << "new"; }
  { AtomicFile(dir / "fresh.txt").write("new", 3); }
  EXPECT_EQ(read_file(dir / "old.txt"), "old");
  EXPECT_EQ(dir.entries(), 1u);
}

TEST(AtomicFile, replaces_an_existing_file) {
  TemporaryDirectory dir;
  write_file(dir / "a.txt", "a longer old content");
  AtomicFile file(dir / "a.txt");
  file.stream() << "new";
  file.commit();
  EXPECT_EQ(read_file(dir / "a.txt"), "new");
}

TEST(AtomicFile, keeps_order_when_small_and_large_writes_alternate) {
  TemporaryDirectory dir;
  std::string expected;
  AtomicFile file(dir / "a.bin");
  for (int i = 0; i < 40; ++i) {
    const std::string part(i % 3 == 0 ? 100000 : 37, static_cast<char>('a' + i % 26));
    file.write(part.data(), part.size());
    file.stream() << i;
    expected += part + std::to_string(i);
  }
  file.sync();
  file.commit();
  EXPECT_EQ(read_file(dir / "a.bin"), expected);
}

TEST(AtomicFile, two_writers_of_one_target_do_not_meet) {
  TemporaryDirectory dir;
  AtomicFile first(dir / "a.txt"), second(dir / "a.txt");
  first.stream() << "first";
  second.stream() << "second";
  first.commit();
  EXPECT_EQ(read_file(dir / "a.txt"), "first");
  second.commit();
  EXPECT_EQ(read_file(dir / "a.txt"), "second");
}

TEST(AtomicFile, keeps_a_symbolic_link) {
  TemporaryDirectory dir;
  write_file(dir / "real.txt", "old");
  fs::create_symlink("real.txt", dir / "link.txt");
  AtomicFile file(dir / "link.txt");
  file.stream() << "new";
  file.commit();
  EXPECT_TRUE(fs::is_symlink(dir / "link.txt"));
  EXPECT_EQ(read_file(dir / "real.txt"), "new");
}

TEST(AtomicFile, obeys_the_umask) {
  TemporaryDirectory dir;
  const mode_t before = ::umask(022);
  AtomicFile file(dir / "a.txt");
  file.commit();
  ::umask(before);
  EXPECT_EQ(fs::status(dir / "a.txt").permissions(), fs::perms{0644});
}

TEST(AtomicFile, refuses_missing_directories_directories_and_devices_by_name) {
  TemporaryDirectory dir;
  EXPECT_TRUE(mentions(error_of([&] { AtomicFile(dir / "none/a.txt"); }), "none/a.txt': No such file"));
  EXPECT_TRUE(mentions(error_of([&] { AtomicFile(dir.path()); }), "Is a directory"));
  EXPECT_TRUE(mentions(error_of([&] { AtomicFile(dir / ""); }), "Is a directory"));
  EXPECT_TRUE(mentions(error_of([&] { AtomicFile(""); }), "''"));
  EXPECT_TRUE(mentions(error_of([&] { AtomicFile("/dev/null"); }), "not a regular file"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST(AtomicFile, is_done_after_commit) {
  TemporaryDirectory dir;
  AtomicFile file(dir / "a.txt");
  file.commit();
  EXPECT_THROW(file.commit(), std::logic_error);
  EXPECT_THROW(file.stream(), std::logic_error);
}

}  // namespace
}  // namespace fib
