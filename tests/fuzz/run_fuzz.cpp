// SPDX-License-Identifier: Apache-2.0
// A run directory as a stranger may send it: summary.json, metrics.jsonl and config.toml, in this order, divided by
// bytes that no text holds. The first is also read as rows of runs that were kept.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "fuzz.h"
#include "report/run_record.h"
#include "training/run/directory.h"

namespace {

namespace fs = std::filesystem;

/// In memory where the system has such a place: a file is written for every input.
fs::path work_directory() {
  const fs::path root = fs::is_directory("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path();
  const fs::path folder = root / ("fib-fuzz-run-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  return folder;
}

std::string take_part(std::string& rest) {
  const size_t end = rest.find('\xff');
  std::string part = rest.substr(0, end);
  rest.erase(0, end == std::string::npos ? end : end + 1);
  return part;
}

void write(const fs::path& file, const std::string& content) { std::ofstream(file, std::ios::binary) << content; }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fs::path folder = work_directory();
  const fib::training::RunFiles files{folder};
  std::string rest = fib::fuzz::text_of(data, size);
  write(files.summary(), take_part(rest));
  write(files.metrics(), take_part(rest));
  write(files.config(), rest);
  fib::fuzz::refuse_or_succeed([&] { fib::report::read_run(folder); });
  fib::fuzz::refuse_or_succeed([&] { fib::report::read_runs(files.summary()); });
  return 0;
}
