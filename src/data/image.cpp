// SPDX-License-Identifier: Apache-2.0
#include "data/image.h"

#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "base/mapped_file.h"
#include "data/image_error.h"
#include "data/jpeg.h"
#include "data/png.h"
#include "data/webp_size.h"

namespace fib {
namespace {

cv::Mat opencv_decode(std::span<const std::byte> bytes) try {
  const cv::Mat encoded(1, static_cast<int>(bytes.size()), CV_8U, const_cast<std::byte*>(bytes.data()));
  return cv::imdecode(encoded, cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION);
} catch (const cv::Exception&) {
  return {};  // the caller names the file
}

Image through_opencv(std::span<const std::byte> bytes, const std::string& name) {
  if (bytes.size() > static_cast<size_t>(INT_MAX)) refuse_image(name, "it is larger than 2 GB");
  const cv::Mat bgr = opencv_decode(bytes);
  if (bgr.empty()) refuse_image(name, "it is damaged and cannot be decoded");
  Image image = make_image(bgr.cols, bgr.rows);
  cv::Mat rgb(bgr.rows, bgr.cols, CV_8UC3, image.pixels.data());
  cv::cvtColor(bgr, rgb, cv::COLOR_BGR2RGB);
  return image;
}

Image decode_png(std::span<const std::byte> file, const std::string& name) {
  const EssentialPng png = essential_png(file, name);
  return oriented(through_opencv(std::as_bytes(std::span(png.bytes)), name), png.orientation);
}

}  // namespace

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

Image decode_image(std::span<const std::byte> file, const std::string& name) {
  if (file.empty()) refuse_image(name, "the file is empty");
  if (is_jpeg(file)) return decode_jpeg(file, name);
  if (is_png(file)) return decode_png(file, name);
  const auto size = webp_size(file);
  if (!size) refuse_image(name, "not a JPEG, PNG or WebP picture");
  check_image_size(size->width, size->height, name);
  return through_opencv(file, name);
}

Image read_image(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  return decode_image(mapped.bytes(), file.string());
}

}  // namespace fib
