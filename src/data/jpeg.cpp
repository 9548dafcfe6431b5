// SPDX-License-Identifier: Apache-2.0
#include "data/jpeg.h"

#include <jerror.h>
#include <jpeglib.h>

#include <array>
#include <csetjmp>
#include <cstdio>  // jpeglib.h uses FILE without including it
#include <string_view>

#include "data/exif.h"
#include "data/image_error.h"

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

/// No object with a destructor may live in a function that libjpeg can leave by longjmp, hence the many small ones.
class JpegReader {
 public:
  explicit JpegReader(const std::string& name) : name_(name) {
    info_.err = jpeg_std_error(&error_.manager);
    error_.manager.error_exit = on_error;
    error_.manager.emit_message = on_message;
    error_.manager.output_message = print_nothing;
    create();
  }
  ~JpegReader() { jpeg_destroy_decompress(&info_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  Image read(std::span<const std::byte> file) {
    read_header(file);
    check_image_size(info_.image_width, info_.image_height, name_);
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

  void read_header(std::span<const std::byte> file) {
    if (setjmp(error_.escape) != 0) fail();
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(file.data()), file.size());
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
    constexpr std::string_view kExif{"Exif\0\0", 6};
    for (const jpeg_marker_struct* marker = info_.marker_list; marker != nullptr; marker = marker->next) {
      const std::string_view data(reinterpret_cast<const char*>(marker->data), marker->data_length);
      if (data.starts_with(kExif)) return exif_orientation(std::as_bytes(std::span(data.substr(kExif.size()))));
    }
    return 1;
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
    refuse_image(name_, truncated ? "truncated JPEG" : std::string("damaged JPEG (") + error_.message.data() + ")");
  }

  const std::string& name_;
  jpeg_decompress_struct info_{};
  ErrorState error_{};
};

}  // namespace

bool is_jpeg(std::span<const std::byte> file) {
  return file.size() >= 3 && file[0] == std::byte{0xff} && file[1] == std::byte{0xd8} && file[2] == std::byte{0xff};
}

Image decode_jpeg(std::span<const std::byte> file, const std::string& name) { return JpegReader(name).read(file); }

}  // namespace fib
