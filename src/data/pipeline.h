// SPDX-License-Identifier: Apache-2.0
// The way of an image to the model's input: decoded bytes in, normalized values out.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "data/clips/clip.h"
#include "data/dataset.h"
#include "data/images/image.h"
#include "data/transforms/crop.h"
#include "data/transforms/pillow_ops.h"
#include "data/transforms/rand_augment.h"

namespace fib {

enum class CropMode {
  resize,  ///< the whole image at the model's size
  center,  ///< shorter side to size / crop_ratio, then the center: evaluation
  random_resized,
  padded,    ///< resized, then moved by up to `padding` pixels: small images
  jittered,  ///< shorter side to a random one of `short_sides`, then a random place: clips
};

/// In the order of their application. The defaults do nothing at random.
struct PipelineConfig {
  int input_size = 224;
  int channels = 3;  ///< 1: the luma of each pixel, which for grey images is their value
  std::vector<float> mean = {0.5F, 0.5F, 0.5F}, std = {0.5F, 0.5F, 0.5F};
  CropMode crop = CropMode::center;
  double crop_ratio = 0.9;
  ResizedCropRange crop_range{};
  int padding = 4;
  std::pair<int64_t, int64_t> short_sides = {256, 320};
  int views = 1;               ///< 3: both ends of the longer side beside its middle, all of which the model sees
  ClipSampling clip{};         ///< of what frames a clip's input is made
  double flip = 0;             ///< probability
  std::string rand_augment{};  ///< such as rand-m15-n2-mstd1.0-inc1; empty: none
  double color_jitter = 0;     ///< as in timm, not used together with RandAugment
  double erasing = 0;          ///< probability
};

/// What evaluates: nothing random. crop_ratio 1 shows the model the whole of a square image.
PipelineConfig evaluation_config(const DatasetInfo& info, int input_size, double crop_ratio);

/// Safe to use from many threads at once.
class Pipeline {
 public:
  /// Throws std::invalid_argument naming the value that is out of range and what is accepted.
  explicit Pipeline(PipelineConfig config);

  int channels() const { return config_.channels; }
  int input_size() const { return config_.input_size; }
  int views() const { return config_.views; }
  /// Of an input: 1 of images.
  int frames() const { return std::max(config_.clip.frames, 1); }
  /// All of a sample: views × channels × frames × size × size.
  size_t values() const;
  const PipelineConfig& config() const { return config_; }

  /// Writes values() numbers, planes after each other, of one view the frames of a channel. All randomness comes from
  /// rng, and is the same for all frames.
  void apply(std::vector<Image> frames, const CounterRng& rng, float* out) const;
  void apply(Image image, const CounterRng& rng, float* out) const;
  /// The same of one frame: the numbers that come from it.
  void apply_frame(Image frame, size_t number, const CounterRng& rng, float* out) const;
  /// The part of it that still works on bytes.
  Image transformed(Image image, CounterRng& rng, int view = 0) const;

 private:
  Image framed(Image image, CounterRng& rng, int view) const;
  Image jittered(const Image& image, CounterRng& rng) const;
  void apply_view(Image image, CounterRng rng, int view, float* out) const;
  void normalize(const Image& image, float* out) const;

  PipelineConfig config_;
  std::optional<RandAugment> rand_augment_;
  Fill fill_;
  std::vector<float> table_;  ///< channels × 256: what becomes of a byte
};

}  // namespace fib
