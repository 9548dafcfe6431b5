// SPDX-License-Identifier: Apache-2.0
#include "data/clips/clip.h"

#include <algorithm>
#include <cmath>

#include "base/plugin.h"

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

void for_frames(const std::filesystem::path& file, const ClipIndex& index, std::span<const size_t> numbers,
                const FrameVisitor& visit) {
  clip_decoder().read(file, index, numbers, [&](size_t number, Image frame) {
    visit(number, oriented(std::move(frame), orientation_of(index.quarter_turns)));
  });
}

std::vector<Image> read_frames(const std::filesystem::path& file, const ClipIndex& index,
                               std::span<const size_t> numbers) {
  std::vector<Image> frames;
  for_frames(file, index, numbers, [&](size_t, Image frame) { frames.push_back(std::move(frame)); });
  return frames;
}

// ---- Which frames of a clip a model sees

namespace {

/// Time from one frame to the next, on average.
double mean_step(const ClipIndex& clip) {
  const auto steps = static_cast<double>(std::max<size_t>(clip.frames() - 1, 1));
  return static_cast<double>(clip.times.back() - clip.times.front()) / steps;
}

/// When a frame would be shown if all came at even times.
double even_time(const ClipIndex& clip, double number) {
  return static_cast<double>(clip.times.front()) + number * mean_step(clip);
}

/// Times are rounded to the file's unit: less than half a step is no unevenness.
bool comes_evenly(const ClipIndex& clip) {
  const double most = mean_step(clip) / 2;
  for (size_t i = 0; i < clip.frames(); ++i) {
    if (std::abs(static_cast<double>(clip.times[i]) - even_time(clip, static_cast<double>(i))) > most) return false;
  }
  return true;
}

/// The last that is shown by then.
size_t frame_shown_at(const ClipIndex& clip, double time) {
  const auto later = std::upper_bound(clip.times.begin(), clip.times.end(), static_cast<int64_t>(std::floor(time)));
  return static_cast<size_t>(std::max<std::ptrdiff_t>(later - clip.times.begin() - 1, 0));
}

}  // namespace

std::vector<size_t> choose_frames(const ClipIndex& clip, const ClipSampling& sampling, CounterRng& rng) {
  constexpr double kReference = 30;  // frames a second that rates are meant for
  const auto last = static_cast<double>(clip.frames() - 1);
  const double span = static_cast<double>(sampling.rate) * sampling.frames / kReference * clip.frames_per_second;
  const double latest = std::max(0.0, static_cast<double>(clip.frames()) - span);
  const double start = sampling.random_start ? uniform_between(rng, 0, latest) : 0;
  const double step = sampling.frames > 1 ? (span - 1) / (sampling.frames - 1) : 0;
  const bool evenly = comes_evenly(clip);
  std::vector<size_t> numbers;
  numbers.reserve(static_cast<size_t>(sampling.frames));
  for (int i = 0; i < sampling.frames; ++i) {
    const double number = std::floor(std::clamp(start + i * step, 0.0, last));
    numbers.push_back(evenly ? static_cast<size_t>(number) : frame_shown_at(clip, even_time(clip, number)));
  }
  return numbers;
}

std::vector<Image> read_sample(const std::filesystem::path& file, const ClipSampling& sampling) {
  if (sampling.frames > 0) {
    CounterRng unused(0);
    const ClipIndex index = index_clip(file);
    return read_frames(file, index, choose_frames(index, sampling, unused));
  }
  std::vector<Image> one;
  one.push_back(read_image(file));
  return one;
}

}  // namespace fib
