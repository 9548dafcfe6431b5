// SPDX-License-Identifier: Apache-2.0
// Frames into an .mp4. The encoder is a library of its own that is loaded when the first video is written: FFmpeg and
// what it needs would otherwise slow down every start of the program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace fib::robots {

struct VideoOptions {
  int width = 512, height = 512;  ///< even
  int frames_per_second = 10;
};

class VideoWriter {
 public:
  virtual ~VideoWriter() = default;
  /// width · height · 3 of red, green, blue.
  virtual void add(std::span<const uint8_t> rgb) = 0;
  /// Without it the file does not appear.
  virtual void finish() = 0;
};

/// Square frames of one size. Throws what open_video throws.
void write_video(const std::filesystem::path& file, std::span<const std::vector<uint8_t>> frames,
                 int frames_per_second);

/// Throws std::runtime_error naming the file and the reason, also where the program was built without an encoder.
std::unique_ptr<VideoWriter> open_video(const std::filesystem::path& file, const VideoOptions& options);

}  // namespace fib::robots
