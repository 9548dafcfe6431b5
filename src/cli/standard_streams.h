// SPDX-License-Identifier: Apache-2.0
// "-" where a command takes the name of a file.
#pragma once

#include <filesystem>
#include <string>

namespace fib::cli {

/// Files that stand for standard input and output, in a folder that is gone in the end: what reads and writes files
/// need not know of streams, and half a result is never written to one.
class StandardStreams {
 public:
  /// `output_taken` says by what standard output is used already, "--json"; empty: by nothing.
  explicit StandardStreams(std::string output_taken = "");
  ~StandardStreams();
  StandardStreams(const StandardStreams&) = delete;
  StandardStreams& operator=(const StandardStreams&) = delete;

  /// The name of a file to read, of `option`: for "-" that of a copy of standard input. Throws std::invalid_argument
  /// when it is asked for twice.
  std::string input(const std::string& option, const std::string& file);
  /// As it was given: "-" for the copy of standard input.
  std::string shown(const std::string& file) const;
  /// The name of a file to write, for "-" one that ends so. Throws std::invalid_argument where standard output is used
  /// already, or is a terminal and the file no text.
  std::string output(const std::string& option, const std::string& file, const std::string& ending);

  /// Standard output is for a result: nothing else may be said there.
  bool output_used() const { return !written_.empty(); }
  /// Sends what was written to standard output.
  void finish();

 private:
  std::filesystem::path folder();

  std::filesystem::path folder_, written_;
  std::string input_of_, output_of_;
};

}  // namespace fib::cli
