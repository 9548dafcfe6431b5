// SPDX-License-Identifier: Apache-2.0
#include <libexif/exif-data.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "data/images/decoders.h"

namespace fib {
namespace {

struct Unref {
  void operator()(ExifData* data) const { exif_data_unref(data); }
};
using ExifPointer = std::unique_ptr<ExifData, Unref>;

/// libexif knows EXIF data by these bytes, which JPEG files carry and most others leave out.
constexpr std::string_view kMarker{"Exif\0\0", 6};
/// JPEG's markers hold no more; larger blocks elsewhere carry previews, which are not read.
constexpr size_t kLongest = 1 << 16;

ExifPointer load(std::span<const std::byte> tiff) {
  ExifPointer data(exif_data_new());
  if (!data) return data;
  // Otherwise missing entries are added, and what a file says cannot be told from what it should say.
  exif_data_unset_option(data.get(), EXIF_DATA_OPTION_FOLLOW_SPECIFICATION);
  const std::string_view text(reinterpret_cast<const char*>(tiff.data()), std::min(tiff.size(), kLongest));
  const std::string marked = std::string(text.starts_with(kMarker) ? "" : kMarker).append(text);
  exif_data_load_data(data.get(), reinterpret_cast<const unsigned char*>(marked.data()),
                      static_cast<unsigned>(marked.size()));
  return data;
}

}  // namespace

int exif_orientation(std::span<const std::byte> tiff) {
  const ExifPointer data = load(tiff);
  const ExifEntry* entry = data ? exif_content_get_entry(data->ifd[EXIF_IFD_0], EXIF_TAG_ORIENTATION) : nullptr;
  if (entry == nullptr || entry->format != EXIF_FORMAT_SHORT || entry->size < sizeof(ExifShort)) return kUpright;
  const int value = exif_get_short(entry->data, exif_data_get_byte_order(data.get()));
  return value >= 1 && value <= 8 ? value : kUpright;
}

}  // namespace fib
