// SPDX-License-Identifier: Apache-2.0
// Frames of a video file, those that are asked for and as few others as their coding allows. The decoder is a library
// of its own that is loaded with the first clip: FFmpeg and what it needs would otherwise slow down every start.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "data/images/image.h"

namespace fib {

/// What a file says of its frames; reading it decodes none.
struct ClipIndex {
  double frames_per_second = 0;  ///< on average
  std::vector<int64_t> times;    ///< when each is shown, in the file's own unit, ascending
  std::vector<size_t> keys;      ///< frames that decoding can begin at, ascending; the first is 0
  bool has_times = true;         ///< false: frames are told apart by counting, and decoding begins at the first
  int quarter_turns = 0;         ///< clockwise, until it stands upright

  size_t frames() const { return times.size(); }
};

/// Throws std::runtime_error with one line naming the file and the reason: no video in it, truncated, without frames.
ClipIndex index_clip(const std::filesystem::path& file);

/// The frames of these numbers, which do not descend, upright. Throws std::runtime_error where one cannot be decoded or
/// has another size than those before.
std::vector<Image> read_frames(const std::filesystem::path& file, const ClipIndex& index,
                               std::span<const size_t> numbers);

}  // namespace fib
