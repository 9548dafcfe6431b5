// SPDX-License-Identifier: Apache-2.0
// Functions of the libraries that are loaded when they are first needed: MuJoCo's arms, HDF5's recordings, FFmpeg's
// videos.
#include "base/atomic_file.h"
#include "base/plugin.h"
#include "base/read_file.h"
#include "robots/arm.h"
#include "robots/episode_images.h"
#include "robots/robomimic.h"
#include "robots/video.h"

namespace fib::robots {

// ---- Arms

namespace {

void* arm_function(const char* name) {
  return plugin_function({"libfib_arm.so", "arms", "libmujoco-dev, libosmesa6-dev and libhdf5-dev"}, name);
}

}  // namespace

std::unique_ptr<ArmWorld> open_arm_world(const ArmScene& scene) {
  using Open = ArmWorld* (*)(const ArmScene& scene);
  static const auto open = reinterpret_cast<Open>(arm_function("fib_open_arm_world"));
  return std::unique_ptr<ArmWorld>(open(scene));
}

std::unique_ptr<RobomimicReader> read_robomimic(const std::filesystem::path& file) {
  using Read = RobomimicReader* (*)(const char* file);
  static const auto read = reinterpret_cast<Read>(arm_function("fib_read_robomimic"));
  const MappedFile is_regular(file);  // HDF5 waits for a pipe, and does not say why it cannot open a file
  return std::unique_ptr<RobomimicReader>(read(file.c_str()));
}

std::unique_ptr<RobomimicWriter> write_robomimic(const std::filesystem::path& file, const std::string& environment) {
  using Write = RobomimicWriter* (*)(const char* file, const char* environment);
  static const auto write = reinterpret_cast<Write>(arm_function("fib_write_robomimic"));
  check_writable(file);  // the writer renames its file to this name, whatever has it
  return std::unique_ptr<RobomimicWriter>(write(file.c_str(), environment.c_str()));
}

// ---- Videos

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
