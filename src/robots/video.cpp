// SPDX-License-Identifier: Apache-2.0
#include "robots/video.h"

#include "base/plugin.h"

namespace fib::robots {

std::unique_ptr<VideoWriter> open_video(const std::filesystem::path& file, const VideoOptions& options) {
  using Open = VideoWriter* (*)(const char* file, const VideoOptions& options);
  static const auto open = reinterpret_cast<Open>(plugin_function(video_plugin("videos"), "fib_open_video"));
  return std::unique_ptr<VideoWriter>(open(file.c_str(), options));
}

void write_video(const std::filesystem::path& file, std::span<const PushTScene> scenes) {
  const auto video = open_video(file, {.width = kCanvasSize, .height = kCanvasSize});
  for (const PushTScene& scene : scenes) video->add(draw_canvas(scene));
  video->finish();
}

}  // namespace fib::robots
