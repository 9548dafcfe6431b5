// SPDX-License-Identifier: Apache-2.0
#include "run_fib.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace {

/// One per process: CTest runs every test in its own.
struct ScratchDirectory {
  std::string path = testing::TempDir() + "fib_cli_" + std::to_string(getpid());
  ScratchDirectory() { std::filesystem::create_directories(path); }
  ~ScratchDirectory() { std::filesystem::remove_all(path); }
};

}  // namespace

std::string scratch_path(const std::string& name) {
  static const ScratchDirectory directory;
  return directory.path + "/" + name;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Outcome run_fib(const std::string& arguments) {
  const std::string out = scratch_path("stdout"), err = scratch_path("stderr");
  const int status = std::system((FIB_BINARY " " + arguments + " >" + out + " 2>" + err).c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(out), read_file(err)};
}
