// SPDX-License-Identifier: Apache-2.0
// What `data` of a recipe names for the tasks of this room: KIND:FILE, or KIND:FILE?key=value&key=value as datasets
// take options after their path.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace fib::sequences {

/// Its readers throw std::invalid_argument naming the option, the value received and what is accepted.
class Source {
 public:
  /// Throws std::invalid_argument for another kind, no file or an option that is not `known`.
  Source(const std::string& text, const std::string& kind, const std::vector<std::string>& known);

  const std::filesystem::path& file() const { return file_; }
  int64_t integer(const std::string& key, int64_t otherwise, int64_t least) const;
  /// From 0 to below 1.
  double share(const std::string& key, double otherwise) const;
  /// The place of the word among `words`; without the option, 0.
  size_t choice(const std::string& key, const std::vector<std::string>& words) const;

 private:
  /// Null where it was not given.
  const std::string* given(const std::string& key) const;
  [[noreturn]] void refuse(const std::string& key, const std::string& value, const std::string& accepted) const;

  std::string kind_;
  std::filesystem::path file_;
  std::map<std::string, std::string> options_;
};

}  // namespace fib::sequences
