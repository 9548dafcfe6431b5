// SPDX-License-Identifier: Apache-2.0
// Images with values in [0, 1], on which corruptions are defined.
#pragma once

#include <functional>
#include <vector>

#include "data/images/image.h"

namespace fib::corruptions {

/// [height, width, channels], channels 1 or 3.
struct FloatImage {
  int height = 0, width = 0, channels = 3;
  std::vector<double> values;

  FloatImage() = default;
  FloatImage(int h, int w, int c, double value = 0)
      : height(h), width(w), channels(c), values(static_cast<size_t>(h) * w * c, value) {}

  double& at(int y, int x, int c = 0) { return values[(static_cast<size_t>(y) * width + x) * channels + c]; }
  double at(int y, int x, int c = 0) const { return values[(static_cast<size_t>(y) * width + x) * channels + c]; }
};

FloatImage to_float(const Image& image);
/// Clipped to [0, 1], times 255, what is behind the point cut off.
Image to_bytes(const FloatImage& image);

/// Luma with OpenCV's weights, one channel.
FloatImage luma(const FloatImage& image);

/// Adds factor · layer, of one channel, to all channels.
void add_layer(FloatImage& image, const FloatImage& layer, double factor);

struct Hsv {
  double hue, saturation, value;  ///< all in [0, 1]
};
Hsv to_hsv(const double* rgb);
void from_hsv(const Hsv& hsv, double* rgb);
/// Every pixel of three channels through HSV.
void change_hsv(FloatImage& image, const std::function<void(Hsv&)>& change);

}  // namespace fib::corruptions
