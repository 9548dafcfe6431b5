// SPDX-License-Identifier: Apache-2.0
// The course of a run: every line goes to metrics.jsonl, its numbers to TensorBoard as well.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "training/run/directory.h"

namespace fib::training {

// ---- A file that only grows, and that a resumed run cuts back to where its checkpoint was

/// Errors are std::runtime_error with the file's name and the system's reason.
class AppendFile {
 public:
  /// Keeps the first `size` bytes of an existing file. Throws also where it has fewer: what a checkpoint counted on is
  /// gone.
  AppendFile(std::filesystem::path file, int64_t size);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  void append(std::string_view bytes);
  /// Brings all that was appended to the disk.
  void sync();
  int64_t size() const { return size_; }

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
  int64_t size_ = 0;
};

// ---- Scalars for TensorBoard: TFRecords of Event messages, whose few protobuf fields are encoded here by hand

/// Castagnoli's CRC-32 as the format wants it: of "123456789" it is 0xE3069283.
uint32_t crc32c(std::string_view bytes);

/// length, masked crc of length, data, masked crc of data; all little-endian.
std::string tfrecord(std::string_view data);

struct Scalar {
  int64_t step = 0;
  std::string tag;
  float value = 0;
  double wall_time = 0;  ///< seconds since 1970
};

/// The Event message of one scalar.
std::string scalar_event(const Scalar& scalar);

class EventFile {
 public:
  /// Continues at `size`; 0 begins the file with the version that readers expect.
  EventFile(const std::filesystem::path& file, int64_t size);

  void add(const Scalar& scalar) { file_.append(tfrecord(scalar_event(scalar))); }
  void sync() { file_.sync(); }
  int64_t size() const { return file_.size(); }

 private:
  AppendFile file_;
};

// ---- Both

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
