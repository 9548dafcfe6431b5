// SPDX-License-Identifier: Apache-2.0
#include "robots/video.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <stdexcept>

namespace fib::robots {
namespace {

constexpr const char* kEncoderLibrary = "libfib_video.so";

using Open = VideoWriter* (*)(const char* file, const VideoOptions& options);

std::filesystem::path encoder_library() {
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const auto& candidate : {here / kEncoderLibrary, here / "../libexec/fibottention" / kEncoderLibrary}) {
    if (std::filesystem::exists(candidate)) return candidate;
  }
  throw std::runtime_error(
      fmt::format("videos need {}, which is neither beside the program nor in ../libexec/fibottention; build with "
                  "libavcodec-dev, libavformat-dev and libswscale-dev",
                  kEncoderLibrary));
}

/// Stays loaded: libraries under FFmpeg do not survive being unloaded.
Open encoder() {
  void* const library = dlopen(encoder_library().c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const function = library == nullptr ? nullptr : dlsym(library, "fib_open_video");
  if (function == nullptr) throw std::runtime_error(fmt::format("cannot load the video encoder: {}", dlerror()));
  return reinterpret_cast<Open>(function);
}

}  // namespace

std::unique_ptr<VideoWriter> open_video(const std::filesystem::path& file, const VideoOptions& options) {
  static const Open open = encoder();
  return std::unique_ptr<VideoWriter>(open(file.c_str(), options));
}

void write_video(const std::filesystem::path& file, std::span<const PushTScene> scenes) {
  const auto video = open_video(file, {.width = kCanvasSize, .height = kCanvasSize});
  for (const PushTScene& scene : scenes) video->add(draw_canvas(scene));
  video->finish();
}

}  // namespace fib::robots
