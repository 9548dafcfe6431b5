// SPDX-License-Identifier: Apache-2.0
#include "training/run/directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "training/recipe/toml.h"

namespace fib::training {
namespace fs = std::filesystem;

Recipe RunFiles::recipe() const {
  if (!fs::exists(config())) throw std::runtime_error("'" + root.string() + "' holds no run: it has no config.toml");
  Recipe recipe;
  read_toml_file(recipe, config());
  return recipe;
}

RunDirectory::RunDirectory(fs::path root) : files_{std::move(root)} {
  std::error_code error;
  fs::create_directories(files_.root, error);
  if (error)
    throw std::runtime_error("cannot make the run directory '" + files_.root.string() + "': " + error.message());
  lock();
  remove_leftovers();
}

RunDirectory::~RunDirectory() { ::close(lock_); }

/// The system drops the lock with the process, however it ends; the file itself stays.
void RunDirectory::lock() {
  lock_ = ::open((files_.root / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0)
    throw std::runtime_error("cannot write into the run directory '" + files_.root.string() +
                             "': " + std::generic_category().message(errno));
  if (::flock(lock_, LOCK_EX | LOCK_NB) == 0) return;
  const int error = errno;
  ::close(lock_);
  throw std::runtime_error("the run directory '" + files_.root.string() + "' " +
                           (error == EWOULDBLOCK ? std::string("is in use by another process")
                                                 : "cannot be locked: " + std::generic_category().message(error)));
}

void RunDirectory::remove_leftovers() const {
  for (const fs::directory_entry& entry : fs::directory_iterator(files_.root)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(".fib-") && name.ends_with(".tmp")) fs::remove(entry.path());
  }
}

}  // namespace fib::training
