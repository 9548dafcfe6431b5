// SPDX-License-Identifier: Apache-2.0
// Scalars for TensorBoard: TFRecords of Event messages, whose few protobuf fields are encoded here by hand.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "training/run/append_file.h"

namespace fib::training {

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

}  // namespace fib::training
