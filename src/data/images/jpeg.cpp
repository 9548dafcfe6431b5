// SPDX-License-Identifier: Apache-2.0
// jpeglib.h uses FILE without including it, and must come after.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include <array>
#include <csetjmp>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "data/images/decoders.h"

namespace fib {
namespace {

/// libjpeg reports an error by not returning. What it says is kept here, and setjmp is where it comes back.
struct ErrorState {
  jpeg_error_mgr manager;
  std::jmp_buf escape;
  std::array<char, JMSG_LENGTH_MAX> message;
};

ErrorState& state_of(j_common_ptr info) { return *reinterpret_cast<ErrorState*>(info->err); }

void on_error(j_common_ptr info) {
  ErrorState& state = state_of(info);
  (*info->err->format_message)(info, state.message.data());
  std::longjmp(state.escape, 1);
}

/// Warnings about oddities inside a complete file are left alone, as Pillow does; running out of data is an error.
void on_message(j_common_ptr info, int level) {
  if (level == -1 && info->err->msg_code == JWRN_JPEG_EOF) on_error(info);
}

void print_nothing(j_common_ptr) {}

/// libjpeg directly, not through OpenCV, which fills what a truncated file lacks with grey and lets libjpeg's warnings
/// reach stderr. No object with a destructor may live in a function that libjpeg can leave by longjmp, hence the many
/// small ones.
class JpegReader {
 public:
  explicit JpegReader(const EncodedImage& file) : file_(file) {
    info_.err = jpeg_std_error(&error_.manager);
    error_.manager.error_exit = on_error;
    error_.manager.emit_message = on_message;
    error_.manager.output_message = print_nothing;
    create();
  }
  ~JpegReader() { jpeg_destroy_decompress(&info_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  Image read() {
    read_header();
    file_.check_size(info_.image_width, info_.image_height);
    const bool cmyk = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
    info_.out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
    Image image = make_image(info_.image_width, info_.image_height);
    std::vector<uint8_t> inks(cmyk ? static_cast<size_t>(image.width) * 4 : 0);
    const int orientation = exif_of_header();  // libjpeg forgets the markers when it finishes
    read_rows(image, inks);
    return oriented(std::move(image), orientation);
  }

 private:
  void create() {
    if (setjmp(error_.escape) != 0) fail();
    jpeg_create_decompress(&info_);
  }

  void read_header() {
    if (setjmp(error_.escape) != 0) fail();
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(file_.bytes.data()), file_.bytes.size());
    jpeg_save_markers(&info_, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(&info_, TRUE);
  }

  void read_rows(Image& image, std::vector<uint8_t>& inks) {
    if (setjmp(error_.escape) != 0) fail();
    jpeg_start_decompress(&info_);
    while (info_.output_scanline < info_.output_height) {
      uint8_t* const row = image.row(info_.output_scanline);
      JSAMPROW target = inks.empty() ? row : inks.data();
      jpeg_read_scanlines(&info_, &target, 1);
      if (!inks.empty()) inks_to_rgb(inks, row);
    }
    jpeg_finish_decompress(&info_);
  }

  int exif_of_header() const {
    for (const jpeg_marker_struct* marker = info_.marker_list; marker != nullptr; marker = marker->next) {
      const std::string_view data(reinterpret_cast<const char*>(marker->data), marker->data_length);
      if (data.starts_with("Exif")) return exif_orientation(std::as_bytes(std::span(data)));
    }
    return kUpright;
  }

  /// Adobe stores inks inverted (255 is no ink), and files without its marker are rare enough that Pillow takes all
  /// so: R = (1 - C)(1 - K), rounded.
  static void inks_to_rgb(const std::vector<uint8_t>& inks, uint8_t* rgb) {
    for (size_t x = 0; x < inks.size() / 4; ++x) {
      const unsigned paper = inks[4 * x + 3];
      for (size_t c = 0; c < 3; ++c) {
        const unsigned product = (255u - inks[4 * x + c]) * paper + 128;
        rgb[3 * x + c] = static_cast<uint8_t>(paper - ((product + (product >> 8)) >> 8));
      }
    }
  }

  [[noreturn]] void fail() const {
    const bool truncated = error_.manager.msg_code == JWRN_JPEG_EOF || error_.manager.msg_code == JERR_INPUT_EOF;
    file_.refuse(truncated ? "truncated JPEG" : std::string("damaged JPEG (") + error_.message.data() + ")");
  }

  const EncodedImage& file_;
  jpeg_decompress_struct info_{};
  ErrorState error_{};
};

}  // namespace

bool is_jpeg(const EncodedImage& file) { return file.starts_with("\xff\xd8\xff"); }

Image decode_jpeg(const EncodedImage& file) { return JpegReader(file).read(); }

std::vector<std::byte> encode_jpeg(const Image& image, int quality) {
  // The default handlers end the program, but only for want of memory or an absurd size, which an Image cannot have.
  jpeg_compress_struct info{};
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* written = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &written, &size);
  info.image_width = static_cast<JDIMENSION>(image.width);
  info.image_height = static_cast<JDIMENSION>(image.height);
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    JSAMPROW row = const_cast<uint8_t*>(image.row(info.next_scanline));
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const std::unique_ptr<unsigned char, decltype(&std::free)> owner(written, std::free);
  const auto* bytes = reinterpret_cast<const std::byte*>(written);
  return {bytes, bytes + size};
}

}  // namespace fib
