// SPDX-License-Identifier: Apache-2.0
#include "training/run/directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "training/recipe/options.h"

namespace fib::training {
namespace fs = std::filesystem;

Recipe RunFiles::recipe() const {
  if (!fs::is_regular_file(config()))
    throw std::runtime_error("'" + root.string() + "' holds no run: it has no config.toml");
  Recipe recipe;
  read_toml_file(recipe, config(), OptionNames::current_or_former);
  return recipe;
}

namespace {

/// The uppermost part of the path that does not exist yet.
fs::path first_missing(fs::path path) {
  fs::path missing;
  for (; !path.empty() && !fs::exists(path); path = path.parent_path()) missing = path;
  return missing;
}

}  // namespace

RunDirectory::RunDirectory(fs::path root) : files_{std::move(root)}, made_(first_missing(files_.root)) {
  std::error_code error;
  fs::create_directories(files_.root, error);
  if (error)
    throw std::runtime_error("cannot make the run directory '" + files_.root.string() + "': " + error.message());
  lock();
  remove_leftovers();
}

RunDirectory::~RunDirectory() {
  remove_if_unused();
  ::close(lock_);
}

void RunDirectory::remove_if_unused() const {
  std::error_code ignored;
  if (made_.empty() || fs::exists(files_.config(), ignored)) return;
  fs::remove(files_.root / ".lock", ignored);
  // Only empty directories can be removed in this way, from the innermost outwards.
  for (fs::path path = files_.root.has_filename() ? files_.root : files_.root.parent_path();
       fs::remove(path, ignored) && path != made_;)
    path = path.parent_path();
}

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
