// SPDX-License-Identifier: Apache-2.0
// What we read of a picture ourselves, before a decoder sees it.
#include <cstdlib>
#include <stdexcept>

#include "data/exif.h"
#include "data/png.h"
#include "data/webp_size.h"

namespace {

/// A PNG that passes is no longer than the file and passes again.
void check_png(std::span<const std::byte> file) {
  if (!fib::is_png(file)) return;
  const fib::EssentialPng png = fib::essential_png(file, "fuzz.png");
  if (png.bytes.size() > file.size() || png.orientation < 1 || png.orientation > 8) std::abort();
  const auto again = fib::essential_png(std::as_bytes(std::span(png.bytes)), "fuzz.png");
  if (again.bytes != png.bytes) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  const int orientation = fib::exif_orientation(file);
  if (orientation < 1 || orientation > 8) std::abort();
  const auto webp = fib::webp_size(file);
  if (webp && (webp->width < 0 || webp->height < 0)) std::abort();
  try {
    check_png(file);
  } catch (const std::runtime_error&) {
  }
  return 0;
}
