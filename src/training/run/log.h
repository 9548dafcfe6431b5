// SPDX-License-Identifier: Apache-2.0
// The course of a run: every line goes to metrics.jsonl, its numbers to TensorBoard as well.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "training/run/directory.h"
#include "training/run/event_file.h"

namespace fib::training {

/// How far the files went; a checkpoint stores it and a resumed run continues there.
struct LogPosition {
  int64_t metrics = 0;
  int64_t events = 0;
};

class RunLog {
 public:
  RunLog(const RunFiles& files, const LogPosition& from);

  /// One line; `group` is the first part of the TensorBoard tags, "train/loss". `line` has a "step".
  void add(const std::string& group, const nlohmann::ordered_json& line);
  /// On disk afterwards.
  LogPosition sync();

 private:
  AppendFile metrics_;
  EventFile events_;
};

}  // namespace fib::training
