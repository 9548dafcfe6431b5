// SPDX-License-Identifier: Apache-2.0
#include "data/clips/clip.h"

#include "base/plugin.h"
#include "data/clips/decoder.h"

namespace fib {
namespace {

const ClipDecoder& clip_decoder() {
  using Decoder = const ClipDecoder* (*)();
  static const auto function = reinterpret_cast<Decoder>(plugin_function(video_plugin("clips"), "fib_clip_decoder"));
  return *function();
}

/// EXIF's number for an image that lies turned.
int orientation_of(int quarter_turns) {
  constexpr int kOrientations[] = {1, 6, 3, 8};
  return kOrientations[quarter_turns % 4];
}

}  // namespace

ClipIndex index_clip(const std::filesystem::path& file) { return clip_decoder().index(file); }

std::vector<Image> read_frames(const std::filesystem::path& file, const ClipIndex& index,
                               std::span<const size_t> numbers) {
  std::vector<Image> frames = clip_decoder().read(file, index, numbers);
  for (Image& frame : frames) frame = oriented(std::move(frame), orientation_of(index.quarter_turns));
  return frames;
}

}  // namespace fib
