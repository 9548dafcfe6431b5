// SPDX-License-Identifier: Apache-2.0
#include "data/images/decoders.h"
#include "fuzz.h"

/// Whatever the bytes: a refusal, or an image of the size it says. Small ones, so that the time goes into the formats.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int64_t kMaxPixels = 1 << 16;
  const auto file = std::as_bytes(std::span(data, size));
  const int orientation = fib::exif_orientation(file);
  fib::fuzz::require(orientation >= 1 && orientation <= 8);
  fib::fuzz::refuse_or_succeed([&] {
    const fib::Image image = fib::decode_image(file, "fuzz.image", kMaxPixels);
    fib::fuzz::require(image.width > 0 && image.height > 0 && image.width * image.height <= kMaxPixels);
    fib::fuzz::require(image.pixels.size() == static_cast<size_t>(3 * image.width * image.height));
  });
  return 0;
}
