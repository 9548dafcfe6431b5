// SPDX-License-Identifier: Apache-2.0
#include "robots/video.h"

#include "base/atomic_file.h"
#include "base/plugin.h"
#include "robots/strip.h"

namespace fib::robots {

std::unique_ptr<VideoWriter> open_video(const std::filesystem::path& file, const VideoOptions& options) {
  using Open = VideoWriter* (*)(const char* file, const VideoOptions& options);
  static const auto open = reinterpret_cast<Open>(plugin_function(video_plugin("videos"), "fib_open_video"));
  check_writable(file);  // the writer renames its file to this name, whatever has it
  return std::unique_ptr<VideoWriter>(open(file.c_str(), options));
}

void write_video(const std::filesystem::path& file, std::span<const std::vector<uint8_t>> frames,
                 int frames_per_second) {
  const auto side = static_cast<int>(image_side(frames.front()));
  const auto video = open_video(file, {.width = side, .height = side, .frames_per_second = frames_per_second});
  for (const std::vector<uint8_t>& frame : frames) video->add(frame);
  video->finish();
}

}  // namespace fib::robots
