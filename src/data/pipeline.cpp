// SPDX-License-Identifier: Apache-2.0
#include "data/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "base/rng.h"
#include "data/images/resize.h"
#include "data/transforms/pillow_ops.h"

namespace fib {
namespace {

[[noreturn]] void refuse(const std::string& what, double value, const std::string& accepted) {
  throw std::invalid_argument(fmt::format("{} {}: accepted is {}", what, value, accepted));
}

void check_probability(const std::string& what, double value) {
  if (!(value >= 0 && value <= 1)) refuse(what, value, "0 to 1");
}

void check_range(const std::string& what, const std::pair<double, double>& range, double most) {
  if (!(range.first > 0 && range.first <= range.second && range.second <= most))
    refuse(fmt::format("{} from {} to", what, range.first), range.second,
           fmt::format("an ascending pair above 0 and at most {}", most));
}

void check_channels(const PipelineConfig& config) {
  if (config.channels != 1 && config.channels != 3) refuse("channels", config.channels, "1 or 3");
  const auto channels = static_cast<size_t>(config.channels);
  if (config.mean.size() != channels || config.std.size() != channels)
    refuse("means and deviations for " + std::to_string(config.mean.size()) + " channels, images with", config.channels,
           "one of each per channel");
  for (float s : config.std)
    if (!(s > 0)) refuse("standard deviation", s, "above 0");
}

void check_short_sides(const PipelineConfig& config) {
  const auto [low, high] = config.short_sides;
  if (low < config.input_size || high < low)
    throw std::invalid_argument(
        fmt::format("shorter sides from {} to {}: accepted is an ascending pair from the input "
                    "size, {}",
                    low, high, config.input_size));
}

void check(const PipelineConfig& config) {
  if (config.input_size < 1 || config.input_size > 1 << 14) refuse("input size", config.input_size, "1 to 16384");
  check_channels(config);
  if (!(config.crop_ratio > 0 && config.crop_ratio <= 1)) refuse("crop ratio", config.crop_ratio, "above 0 to 1");
  check_range("crop scale", config.crop_range.scale, 1);
  check_range("crop aspect ratio", config.crop_range.ratio, 100);
  if (config.crop == CropMode::padded && (config.padding < 0 || config.padding > config.input_size))
    refuse("padding", config.padding, "0 to the input size");
  if (config.crop == CropMode::jittered) check_short_sides(config);
  if (config.views != 1 && config.views != 3) refuse("views", config.views, "1 or 3");
  if (config.clip.frames > 0 && config.clip.rate < 1) refuse("sampling rate", config.clip.rate, "1 or more");
  check_probability("flip probability", config.flip);
  check_probability("erasing probability", config.erasing);
  if (!(config.color_jitter >= 0)) refuse("color jitter", config.color_jitter, "0 or more");
}

/// Grey images have three equal channels on the way, and so has what fills their gaps.
Fill fill_for(const std::vector<float>& mean) {
  Fill fill{};
  for (size_t c = 0; c < fill.size() && !mean.empty(); ++c)
    fill[c] = static_cast<uint8_t>(std::clamp(std::nearbyint(255 * mean[std::min(c, mean.size() - 1)]), 0.0F, 255.0F));
  return fill;
}

Image at_size(Image image, int size) {
  if (image.height == size && image.width == size) return image;
  return resize(image, {size, size}, Filter::bicubic);
}

Image center_view(const Image& image, int size, double crop_ratio) {
  const CenterCrop view{static_cast<int64_t>(std::floor(size / crop_ratio)), size};
  const bool whole = view.resize_shorter == size && image.width == size && image.height == size;
  return whole ? image : resize_and_crop(image, view);
}

/// What video models are trained with; it is twice as fast.
constexpr Filter kFrameFilter = Filter::bilinear;

int64_t shorter_side(const PipelineConfig& config) {
  return static_cast<int64_t>(std::floor(config.input_size / config.crop_ratio));
}

constexpr int kMiddleView = 1;

/// A square from one end of the longer side, from its middle or from its other end.
Image view_along(const Image& image, const PipelineConfig& config, int view) {
  const ImageSize size = resized_size({image.width, image.height}, shorter_side(config));
  const int64_t side = config.input_size;
  const auto begin = [&](int64_t length, bool longer) {
    if (!longer || view == kMiddleView) return center_crop_begin(length, side);
    return view == 0 ? int64_t{0} : length - side;
  };
  const bool wide = size.width >= size.height;
  return resize_region(image, size, {begin(size.width, wide), begin(size.height, !wide), side, side}, kFrameFilter);
}

}  // namespace

PipelineConfig evaluation_config(const DatasetInfo& info, int input_size, double crop_ratio) {
  PipelineConfig config;
  config.input_size = input_size;
  config.channels = info.channels;
  config.mean = info.mean;
  config.std = info.std;
  config.crop_ratio = crop_ratio;
  return config;
}

Pipeline::Pipeline(PipelineConfig config) : config_(std::move(config)), fill_(fill_for(config_.mean)) {
  check(config_);
  if (!config_.rand_augment.empty()) rand_augment_ = RandAugment::parse(config_.rand_augment);
  for (size_t c = 0; c < config_.mean.size(); ++c) {
    for (int v = 0; v < 256; ++v) table_.push_back((static_cast<float>(v) / 255.0F - config_.mean[c]) / config_.std[c]);
  }
}

size_t Pipeline::values() const {
  return static_cast<size_t>(config_.views) * frames() * config_.channels * config_.input_size * config_.input_size;
}

/// The same place in every frame, as all are of one size.
Image Pipeline::jittered(const Image& image, CounterRng& rng) const {
  const ImageSize size = resized_size({image.width, image.height},
                                      integer_between(rng, config_.short_sides.first, config_.short_sides.second));
  const int64_t side = config_.input_size;
  const int64_t y = integer_between(rng, 0, size.height - side), x = integer_between(rng, 0, size.width - side);
  return resize_region(image, size, {x, y, side, side}, kFrameFilter);
}

Image Pipeline::framed(Image image, CounterRng& rng, int view) const {
  const int size = config_.input_size;
  switch (config_.crop) {
    case CropMode::resize:
      return at_size(std::move(image), size);
    case CropMode::center:
      if (config_.views == 1 && config_.clip.frames == 0) return center_view(image, size, config_.crop_ratio);
      return view_along(image, config_, config_.views == 1 ? kMiddleView : view);
    case CropMode::random_resized:
      return at_size(cropped(image, draw_resized_crop({image.width, image.height}, config_.crop_range, rng)), size);
    case CropMode::padded:
      return pad_cropped(at_size(std::move(image), size), config_.padding, rng);
    case CropMode::jittered:
      return jittered(image, rng);
  }
  throw std::logic_error("a crop mode without a case");
}

Image Pipeline::transformed(Image image, CounterRng& rng, int view) const {
  image = framed(std::move(image), rng, view);
  if (config_.flip > 0 && bernoulli(rng, config_.flip)) flip_horizontally(image);
  if (rand_augment_) {
    rand_augment_->apply(image, fill_, rng);
  } else if (config_.color_jitter > 0) {
    apply_jitter(image, draw_jitter(config_.color_jitter, rng));
  }
  return image;
}

void Pipeline::normalize(const Image& image, float* out) const {
  const size_t pixels = image.pixels.size() / 3;
  if (config_.channels == 1) {
    for (size_t p = 0; p < pixels; ++p) out[p] = table_[grey_of(&image.pixels[3 * p])];
    return;
  }
  for (size_t c = 0; c < 3; ++c) {
    const float* table = &table_[256 * c];
    for (size_t p = 0; p < pixels; ++p) out[c * pixels + p] = table[image.pixels[3 * p + c]];
  }
}

void Pipeline::apply(Image image, const CounterRng& rng, float* out) const {
  apply_frame(std::move(image), 0, rng, out);
}

void Pipeline::apply(std::vector<Image> images, const CounterRng& rng, float* out) const {
  for (size_t t = 0; t < images.size(); ++t) apply_frame(std::move(images[t]), t, rng, out);
}

void Pipeline::apply_frame(Image frame, size_t number, const CounterRng& rng, float* out) const {
  const auto T = static_cast<size_t>(frames()), channels = static_cast<size_t>(config_.channels);
  if (T == 1 && config_.views == 1) return apply_view(std::move(frame), rng, 0, out);
  const size_t plane = static_cast<size_t>(config_.input_size) * config_.input_size;
  std::vector<float> one(channels * plane);
  for (int view = 0; view < config_.views; ++view) {
    apply_view(frame, rng, view, one.data());
    for (size_t c = 0; c < channels; ++c)
      std::copy_n(&one[c * plane], plane, out + ((view * channels + c) * T + number) * plane);
  }
}

void Pipeline::apply_view(Image image, CounterRng rng, int view, float* out) const {
  normalize(transformed(std::move(image), rng, view), out);
  if (config_.erasing == 0 || !bernoulli(rng, config_.erasing)) return;
  const int size = config_.input_size;
  const ImageSize square{size, size};
  if (const auto box = draw_erased_box(square, rng)) fill_with_noise(out, config_.channels, square, *box, rng);
}

}  // namespace fib
