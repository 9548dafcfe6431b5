// SPDX-License-Identifier: Apache-2.0
#include "robots/video.h"

#include "base/plugin.h"

namespace fib::robots {

std::unique_ptr<VideoWriter> open_video(const std::filesystem::path& file, const VideoOptions& options) {
  using Open = VideoWriter* (*)(const char* file, const VideoOptions& options);
  static const auto open = reinterpret_cast<Open>(plugin_function("libfib_video.so", "fib_open_video", "videos"));
  return std::unique_ptr<VideoWriter>(open(file.c_str(), options));
}

}  // namespace fib::robots
