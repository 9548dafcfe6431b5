// SPDX-License-Identifier: Apache-2.0
#include <webp/decode.h>
#include <webp/demux.h>

#include <memory>
#include <string_view>

#include "data/images/decoders.h"

namespace fib {
namespace {

const uint8_t* bytes_of(const EncodedImage& file) { return reinterpret_cast<const uint8_t*>(file.bytes.data()); }

struct DeleteDemuxer {
  void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
};

int orientation_of(const EncodedImage& file) {
  const WebPData data{bytes_of(file), file.bytes.size()};
  const std::unique_ptr<WebPDemuxer, DeleteDemuxer> demuxer(WebPDemux(&data));
  WebPChunkIterator exif;
  if (!demuxer || WebPDemuxGetChunk(demuxer.get(), "EXIF", 1, &exif) == 0) return kUpright;
  const int orientation = exif_orientation(std::as_bytes(std::span(exif.chunk.bytes, exif.chunk.size)));
  WebPDemuxReleaseChunkIterator(&exif);
  return orientation;
}

ImageSize checked_size(const EncodedImage& file) {
  WebPBitstreamFeatures features;
  const VP8StatusCode status = WebPGetFeatures(bytes_of(file), file.bytes.size(), &features);
  if (status == VP8_STATUS_NOT_ENOUGH_DATA) file.refuse("truncated WebP");
  if (status != VP8_STATUS_OK) file.refuse("damaged WebP");
  if (features.has_animation != 0) file.refuse("an animated WebP, accepted are still images");
  file.check_size(features.width, features.height);
  return {features.width, features.height};
}

}  // namespace

bool is_webp(const EncodedImage& file) {
  const std::string_view text(reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size());
  return text.starts_with("RIFF") && text.size() >= 12 && text.substr(8, 4) == "WEBP";
}

Image decode_webp(const EncodedImage& file) {
  const ImageSize size = checked_size(file);
  Image image = make_image(size.width, size.height);
  const bool whole = WebPDecodeRGBInto(bytes_of(file), file.bytes.size(), image.pixels.data(), image.pixels.size(),
                                       static_cast<int>(3 * size.width)) != nullptr;
  if (!whole) file.refuse("damaged or truncated WebP");
  return oriented(std::move(image), orientation_of(file));
}

}  // namespace fib
