// SPDX-License-Identifier: Apache-2.0
// What `fib runs` reads of a finished run.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "files.h"

namespace fib::test {

struct FinishedRun {
  std::string data = "mnist", attention = "full";
  int seed = 3;
  double top1 = 0.5;
};

inline void write_run(const std::filesystem::path& folder, const FinishedRun& run = {}) {
  std::filesystem::create_directories(folder);
  write_file(folder / "summary.json",
             fmt::format(R"({{"model":"vit","attention":"{}","data":"{}","seed":{},"parameters":9,"train_images":650,
                              "epochs":1,"steps":2,"batch":32,"processes":1,"threads":1,"train_seconds":3,
                              "peak_memory_mb":4,"test":{{"images":100,"top1":{},"weights":"ema","epoch":1}}}})",
                         run.attention, run.data, run.seed, run.top1));
  write_file(folder / "metrics.jsonl", "{\"epoch\":1,\"train_loss\":2.3}\n{\"epoch\":2,\"train_loss\":2.1}\n");
}

}  // namespace fib::test
