// SPDX-License-Identifier: Apache-2.0
#include "base/atomic_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace fib {
namespace {

class AtomicFileTest : public testing::Test {
 protected:
  AtomicFileTest() : directory_(testing::TempDir() + "atomic_file_" + std::to_string(getpid())) {
    std::filesystem::create_directories(directory_);
  }
  ~AtomicFileTest() override { std::filesystem::remove_all(directory_); }

  std::string path() const { return directory_ + "/file"; }
  std::string contents() const {
    std::ifstream in(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  ptrdiff_t files() const { return std::distance(std::filesystem::directory_iterator(directory_), {}); }

  std::string directory_;
};

}  // namespace

TEST_F(AtomicFileTest, appears_when_committed) {
  AtomicFile file(path());
  file.write("one ");
  file.write(std::string("two\0three", 9));
  EXPECT_FALSE(std::filesystem::exists(path()));
  file.commit();
  EXPECT_EQ(contents(), std::string("one two\0three", 13));
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFileTest, leaves_the_old_file_and_no_rubbish_when_not_committed) {
  write_file_atomically(path(), "old");
  { AtomicFile(path()).write("new"); }
  EXPECT_EQ(contents(), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFileTest, replaces_the_old_file) {
  write_file_atomically(path(), "a longer one");
  write_file_atomically(path(), "short");
  EXPECT_EQ(contents(), "short");
}

TEST_F(AtomicFileTest, has_the_rights_of_any_new_file) {
  std::ofstream(path() + "2") << "x";
  write_file_atomically(path(), "x");
  EXPECT_EQ(std::filesystem::status(path()).permissions(), std::filesystem::status(path() + "2").permissions());
}

TEST_F(AtomicFileTest, names_the_path_it_cannot_write) {
  try {
    AtomicFile file(directory_ + "/missing/file");
    FAIL();
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("/missing/file': No such file"), std::string::npos) << e.what();
  }
  EXPECT_THROW(AtomicFile file(directory_), std::runtime_error);
}

}  // namespace fib
