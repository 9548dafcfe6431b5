// SPDX-License-Identifier: Apache-2.0
#include "data/images/image.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/read_file.h"
#include "data/images/decoders.h"

namespace fib {

Image make_image(int64_t width, int64_t height) {
  return {width, height, std::vector<uint8_t>(static_cast<size_t>(width * height * 3))};
}

Image oriented(Image image, int orientation) {
  if (orientation < 2 || orientation > 8) return image;
  const bool swap = orientation >= 5;
  const bool flip_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool flip_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Image result = swap ? make_image(image.height, image.width) : make_image(image.width, image.height);
  for (int64_t y = 0; y < result.height; ++y) {
    for (int64_t x = 0; x < result.width; ++x) {
      const int64_t from_x = swap ? y : x, from_y = swap ? x : y;
      const uint8_t* pixel =
          image.row(flip_y ? image.height - 1 - from_y : from_y) + 3 * (flip_x ? image.width - 1 - from_x : from_x);
      std::copy_n(pixel, 3, result.row(y) + 3 * x);
    }
  }
  return result;
}

bool EncodedImage::starts_with(std::string_view magic) const {
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()).starts_with(magic);
}

void EncodedImage::refuse(const std::string& reason) const {
  throw std::runtime_error(fmt::format("cannot read image '{}': {}", name, reason));
}

void EncodedImage::check_size(int64_t width, int64_t height) const {
  if (width < 1 || height < 1) refuse(fmt::format("its header says {}×{} pixels", width, height));
  if (width > max_pixels / height)
    refuse(fmt::format("{}×{} pixels are too many, accepted are up to {}", width, height, max_pixels));
}

Image decode_image(std::span<const std::byte> bytes, const std::string& name, int64_t max_pixels) {
  const EncodedImage file{bytes, name, max_pixels};
  if (bytes.empty()) file.refuse("the file is empty");
  if (is_jpeg(file)) return decode_jpeg(file);
  if (is_png(file)) return decode_png(file);
  if (is_webp(file)) return decode_webp(file);
  file.refuse("not a JPEG, PNG or WebP image");
}

Image read_image(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  return decode_image(mapped.bytes(), file.string());
}

}  // namespace fib
