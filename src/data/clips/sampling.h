// SPDX-License-Identifier: Apache-2.0
// Which frames of a clip a model sees.
#pragma once

#include <vector>

#include "base/rng.h"
#include "data/clips/clip.h"

namespace fib {

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
