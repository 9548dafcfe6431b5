// SPDX-License-Identifier: Apache-2.0
// A file that appears whole or not at all: written under a temporary name beside its place, synced, then renamed.
#pragma once

#include <string>
#include <string_view>

namespace fib {

class AtomicFile {
 public:
  /// Throws std::runtime_error with the path and the system's reason, as the other members do.
  explicit AtomicFile(std::string path);
  /// Without commit() the temporary file is removed and what stood at the path stays as it was.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  /// Makes the contents durable and gives them their name; nothing can be written after it.
  void commit();

 private:
  [[noreturn]] void fail(const char* what) const;
  void discard();

  std::string path_, temporary_;
  int descriptor_ = -1;
};

/// The whole file in one call.
void write_file_atomically(const std::string& path, std::string_view bytes);

}  // namespace fib
