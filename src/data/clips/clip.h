// SPDX-License-Identifier: Apache-2.0
// Frames of a video file, those that are asked for and as few others as their coding allows. The decoder is a library
// of its own that is loaded with the first clip: FFmpeg and what it needs would otherwise slow down every start.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "base/rng.h"
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

/// Larger frames are refused: 8192 × 4320, the largest that cameras write. Decoding one takes some 15 bytes a pixel.
inline constexpr int64_t kMaxFramePixels = 35'389'440;

/// Gets frame `number` of those that are asked for.
using FrameVisitor = std::function<void(size_t number, Image frame)>;

/// Decodes the frames of these numbers, which do not descend, and gives them away upright, one by one: a clip takes the
/// memory of one. Throws std::runtime_error where a frame cannot be decoded or has another size than those before.
void for_frames(const std::filesystem::path& file, const ClipIndex& index, std::span<const size_t> numbers,
                const FrameVisitor& visit);
/// All of them.
std::vector<Image> read_frames(const std::filesystem::path& file, const ClipIndex& index,
                               std::span<const size_t> numbers);

// ---- What the library that decodes clips offers: the two above without the turning

struct ClipDecoder {
  ClipIndex (*index)(const std::filesystem::path& file);
  void (*read)(const std::filesystem::path& file, const ClipIndex& index, std::span<const size_t> numbers,
               const FrameVisitor& visit);
};

// ---- Which frames of a clip a model sees

struct ClipSampling {
  int frames = 0;             ///< that the model takes; 0: it takes images
  int rate = 32;              ///< from one to the next, counted in thirtieths of a second
  bool random_start = false;  ///< anywhere in the clip, as in training; else at its beginning
};

/// As many numbers as asked for, evenly spread over rate · frames thirtieths of a second. A clip that is shorter shows
/// its last frame again; one whose frames come at uneven times shows what is to be seen at even ones.
std::vector<size_t> choose_frames(const ClipIndex& clip, const ClipSampling& sampling, CounterRng& rng);

/// An image, or the frames of a clip that are asked for. Throws std::runtime_error naming the file.
std::vector<Image> read_sample(const std::filesystem::path& file, const ClipSampling& sampling);

}  // namespace fib
