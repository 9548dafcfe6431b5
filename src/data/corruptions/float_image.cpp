// SPDX-License-Identifier: Apache-2.0
#include "data/corruptions/float_image.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace fib::corruptions {

FloatImage to_float(const Image& image) {
  FloatImage result(static_cast<int>(image.height), static_cast<int>(image.width), 3);
  std::transform(image.pixels.begin(), image.pixels.end(), result.values.begin(), [](uint8_t v) { return v / 255.0; });
  return result;
}

Image to_bytes(const FloatImage& image) {
  Image result = make_image(image.width, image.height);
  const auto byte = [](double v) { return static_cast<uint8_t>(std::clamp(v, 0.0, 1.0) * 255.0); };
  std::transform(image.values.begin(), image.values.end(), result.pixels.begin(), byte);
  return result;
}

FloatImage luma(const FloatImage& image) {
  FloatImage grey(image.height, image.width, 1);
  for (size_t p = 0; p < grey.values.size(); ++p) {
    const double* rgb = &image.values[3 * p];
    grey.values[p] = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
  }
  return grey;
}

void add_layer(FloatImage& image, const FloatImage& layer, double factor) {
  const auto channels = static_cast<size_t>(image.channels);
  for (size_t i = 0; i < image.values.size(); ++i) image.values[i] += factor * layer.values[i / channels];
}

Hsv to_hsv(const double* rgb) {
  const auto [low, high] = std::minmax({rgb[0], rgb[1], rgb[2]});
  const double delta = high - low;
  if (delta == 0) return {0, 0, high};
  double sixths = 0;
  if (rgb[2] == high)
    sixths = 4 + (rgb[0] - rgb[1]) / delta;
  else if (rgb[1] == high)
    sixths = 2 + (rgb[2] - rgb[0]) / delta;
  else
    sixths = (rgb[1] - rgb[2]) / delta;
  return {sixths < 0 ? sixths / 6 + 1 : sixths / 6, delta / high, high};
}

void from_hsv(const Hsv& hsv, double* rgb) {
  const double sixths = hsv.hue * 6, whole = std::floor(sixths), part = sixths - whole, v = hsv.value;
  const double p = v * (1 - hsv.saturation), q = v * (1 - part * hsv.saturation),
               t = v * (1 - (1 - part) * hsv.saturation);
  const std::array<std::array<double, 3>, 6> sectors = {
      {{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}}};
  const auto& color = sectors[static_cast<size_t>(whole) % 6];
  std::copy(color.begin(), color.end(), rgb);
}

void change_hsv(FloatImage& image, const std::function<void(Hsv&)>& change) {
  for (size_t i = 0; i < image.values.size(); i += 3) {
    Hsv hsv = to_hsv(&image.values[i]);
    change(hsv);
    from_hsv(hsv, &image.values[i]);
  }
}

}  // namespace fib::corruptions
