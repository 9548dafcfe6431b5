// SPDX-License-Identifier: Apache-2.0
#include "cli/standard_streams.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <system_error>

namespace fib::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCopy = "standard-input";

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

File open_file(const fs::path& path, const char* mode) {
  File file(std::fopen(path.c_str(), mode));
  if (!file) throw fs::filesystem_error("cannot open", path, std::error_code(errno, std::generic_category()));
  return file;
}

void copy_stream(std::FILE* from, std::FILE* to, const char* what) {
  std::array<char, 1 << 16> piece{};
  while (const size_t bytes = std::fread(piece.data(), 1, piece.size(), from))
    if (std::fwrite(piece.data(), 1, bytes, to) != bytes) break;
  if (std::ferror(from) != 0 || std::ferror(to) != 0 || std::fflush(to) != 0)
    throw std::runtime_error(fmt::format("cannot {}", what));
}

bool is_text(const std::string& ending) { return ending == ".svg" || ending == ".html"; }

}  // namespace

StandardStreams::StandardStreams(std::string output_taken) : output_of_(std::move(output_taken)) {}

StandardStreams::~StandardStreams() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

fs::path StandardStreams::folder() {
  if (!folder_.empty()) return folder_;
  std::string name = (fs::temp_directory_path() / "fib-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr)
    throw std::runtime_error(fmt::format("cannot make a folder in '{}'", fs::temp_directory_path().string()));
  return folder_ = name;
}

std::string StandardStreams::input(const std::string& option, const std::string& file) {
  if (file != "-") return file;
  if (!input_of_.empty())
    throw std::invalid_argument(fmt::format("{} - and {} -: standard input can be read once", input_of_, option));
  input_of_ = option;
  const fs::path copy = folder() / kCopy;
  copy_stream(stdin, open_file(copy, "wb").get(), "read standard input");
  return copy;
}

std::string StandardStreams::shown(const std::string& file) const {
  return !input_of_.empty() && file == (folder_ / kCopy).string() ? "-" : file;
}

std::string StandardStreams::output(const std::string& option, const std::string& file, const std::string& ending) {
  if (file != "-") return file;
  if (!output_of_.empty())
    throw std::invalid_argument(fmt::format("{} and {} - both want standard output", output_of_, option));
  if (isatty(STDOUT_FILENO) != 0 && !is_text(ending))
    throw std::invalid_argument(
        fmt::format("{} -: standard output is a terminal, which cannot show {}", option, ending));
  output_of_ = option + " -";
  return written_ = folder() / ("standard-output" + ending);
}

void StandardStreams::finish() {
  if (written_.empty()) return;
  copy_stream(open_file(written_, "rb").get(), stdout, "write to standard output");
}

}  // namespace fib::cli
