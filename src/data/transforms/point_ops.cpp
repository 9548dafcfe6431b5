// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <numeric>

#include "data/transforms/pillow_ops.h"

namespace fib {
namespace {

using Table = std::array<uint8_t, 256>;
constexpr size_t kChannels = 3;
using Histogram = std::array<int64_t, 256>;

Histogram histogram(const Image& image, size_t channel) {
  Histogram counts{};
  for (size_t i = channel; i < image.pixels.size(); i += kChannels) ++counts[image.pixels[i]];
  return counts;
}

void map_channel(Image& image, size_t channel, const Table& table) {
  for (size_t i = channel; i < image.pixels.size(); i += kChannels) image.pixels[i] = table[image.pixels[i]];
}

/// The same table for all channels; f maps a value to a value.
template <class F>
void map_values(Image& image, F f) {
  Table table;
  for (int v = 0; v < 256; ++v) table[static_cast<size_t>(v)] = static_cast<uint8_t>(f(v));
  for (uint8_t& value : image.pixels) value = table[value];
}

Table identity() {
  Table table;
  std::iota(table.begin(), table.end(), uint8_t{0});
  return table;
}

Table stretching(const Histogram& counts) {
  const auto occurs = [](int64_t n) { return n > 0; };
  const auto low = std::find_if(counts.begin(), counts.end(), occurs) - counts.begin();
  const auto high = counts.rend() - std::find_if(counts.rbegin(), counts.rend(), occurs) - 1;
  if (high <= low) return identity();
  const double scale = 255.0 / static_cast<double>(high - low), offset = -static_cast<double>(low) * scale;
  Table table;
  for (int v = 0; v < 256; ++v)
    table[static_cast<size_t>(v)] = static_cast<uint8_t>(std::clamp(static_cast<int>(v * scale + offset), 0, 255));
  return table;
}

Table equalizing(const Histogram& counts) {
  const auto last = std::find_if(counts.rbegin(), counts.rend(), [](int64_t n) { return n > 0; });
  const int64_t step = (std::accumulate(counts.begin(), counts.end(), int64_t{0}) - *last) / 255;
  if (step == 0) return identity();
  Table table;
  int64_t n = step / 2;
  for (size_t v = 0; v < 256; ++v) {
    table[v] = static_cast<uint8_t>(std::min<int64_t>(n / step, 255));
    n += counts[v];
  }
  return table;
}

}  // namespace

void autocontrast(Image& image) {
  for (size_t c = 0; c < kChannels; ++c) map_channel(image, c, stretching(histogram(image, c)));
}

void equalize(Image& image) {
  for (size_t c = 0; c < kChannels; ++c) map_channel(image, c, equalizing(histogram(image, c)));
}

void invert(Image& image) {
  map_values(image, [](int v) { return 255 - v; });
}

void posterize(Image& image, int bits) {
  if (bits >= 8) return;
  map_values(image, [mask = ~((1 << (8 - bits)) - 1)](int v) { return v & mask; });
}

void solarize(Image& image, int threshold) {
  map_values(image, [threshold](int v) { return v < threshold ? v : 255 - v; });
}

void solarize_add(Image& image, int add) {
  map_values(image, [add](int v) { return v < 128 ? std::min(255, v + add) : v; });
}

}  // namespace fib
