// SPDX-License-Identifier: Apache-2.0
#include <png.h>

#include <array>
#include <csetjmp>
#include <cstring>
#include <string_view>

#include "base/text.h"
#include "data/images/decoders.h"

namespace fib {
namespace {

constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";
constexpr std::string_view kTruncated = "truncated";

/// Reads one file. libpng reports an error by not returning: what it says is kept here, and setjmp is where it comes
/// back. No object with a destructor may live in a function that is left so, hence the many small ones.
class PngReader {
 public:
  explicit PngReader(const EncodedImage& file) : file_(file), rest_(file.bytes) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
    if (info_ == nullptr) {
      destroy();
      file_.refuse("no memory to read a PNG");
    }
  }
  ~PngReader() { destroy(); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  Image read() {
    read_header();
    const int64_t width = png_get_image_width(png_, info_), height = png_get_image_height(png_, info_);
    file_.check_size(width, height);
    ask_for_rgb();
    Image image = make_image(width, height);
    std::vector<uint8_t*> rows;
    for (int64_t y = 0; y < height; ++y) rows.push_back(image.row(y));
    read_pixels(rows.data());
    return oriented(std::move(image), orientation());
  }

 private:
  static PngReader& self(png_structp png) { return *static_cast<PngReader*>(png_get_error_ptr(png)); }

  static void on_error(png_structp png, png_const_charp message) {
    PngReader& reader = self(png);
    std::strncpy(reader.message_.data(), message, reader.message_.size() - 1);
    std::longjmp(reader.escape_, 1);
  }
  /// Unusual color profiles and the like: of no weight here, and libpng would print them.
  static void on_warning(png_structp, png_const_charp) {}

  static void on_read(png_structp png, png_bytep target, size_t length) {
    PngReader& reader = *static_cast<PngReader*>(png_get_io_ptr(png));
    if (length > reader.rest_.size()) png_error(png, kTruncated.data());
    std::memcpy(target, reader.rest_.data(), length);
    reader.rest_ = reader.rest_.subspan(length);
  }

  void read_header() {
    if (setjmp(escape_) != 0) fail();
    png_set_read_fn(png_, this, on_read);
    png_set_crc_action(png_, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    // Sizes are judged by our own rule, with its message.
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    skip_commentary();
    png_read_info(png_, info_);
  }

  /// Everything but the pixels' own chunks and the orientation is passed by unread: profiles, texts, times, and tRNS,
  /// since transparency is dropped.
  void skip_commentary() {
    static constexpr png_byte kRead[] = "eXIf";
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_AS_DEFAULT, kRead, 1);
  }

  void ask_for_rgb() {
    if (setjmp(escape_) != 0) fail();
    png_set_strip_16(png_);
    png_set_expand(png_);
    png_set_gray_to_rgb(png_);
    png_set_strip_alpha(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    if (png_get_rowbytes(png_, info_) != size_t{3} * png_get_image_width(png_, info_)) png_error(png_, "no RGB");
  }

  void read_pixels(uint8_t** rows) {
    if (setjmp(escape_) != 0) fail();
    png_read_image(png_, rows);
    png_read_end(png_, info_);
  }

  int orientation() const {
    png_uint_32 size = 0;
    png_bytep exif = nullptr;
    if (png_get_eXIf_1(png_, info_, &size, &exif) == 0) return kUpright;
    return exif_orientation(std::as_bytes(std::span(exif, size)));
  }

  [[noreturn]] void fail() const {
    const std::string_view message = message_.data();
    constexpr std::string_view kWrongSum = ": CRC error";
    if (message == kTruncated) file_.refuse("truncated PNG");
    if (message.ends_with(kWrongSum))
      file_.refuse("damaged PNG, wrong checksum in " + in_quotes(message.substr(0, message.size() - kWrongSum.size())));
    file_.refuse("damaged PNG (" + printable(message, kLongestQuote) + ")");
  }

  void destroy() { png_destroy_read_struct(&png_, &info_, nullptr); }

  const EncodedImage& file_;
  std::span<const std::byte> rest_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::jmp_buf escape_{};
  std::array<char, 200> message_{};
};

}  // namespace

bool is_png(const EncodedImage& file) { return file.starts_with(kSignature); }

Image decode_png(const EncodedImage& file) { return PngReader(file).read(); }

}  // namespace fib
