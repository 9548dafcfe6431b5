// SPDX-License-Identifier: Apache-2.0
#include "report/font.h"

#include <ft2build.h>
#include FT_FREETYPE_H

#include <algorithm>

namespace fib::report {
namespace {

constexpr const char* kRegular = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf";
constexpr const char* kBold = "/usr/share/fonts/truetype/dejavu/DejaVuSans-Bold.ttf";

/// Code points of UTF-8 that is known to be sound: texts from outside have gone through printable().
std::vector<FT_ULong> code_points(const std::string& text) {
  std::vector<FT_ULong> points;
  points.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0U) == 0x80U && !points.empty()) {
      points.back() = points.back() << 6U | (byte & 0x3FU);
    } else {
      points.push_back(byte < 0x80U ? byte : byte & (byte < 0xE0U ? 0x1FU : byte < 0xF0U ? 0x0FU : 0x07U));
    }
  }
  return points;
}

/// Letters overlap where one reaches under its neighbor: the larger coverage stays.
void add_letter(Lettering& line, const FT_GlyphSlot glyph, int pen) {
  const int left = pen + glyph->bitmap_left, top = line.ascent - glyph->bitmap_top;
  for (int y = 0; y < static_cast<int>(glyph->bitmap.rows); ++y) {
    for (int x = 0; x < static_cast<int>(glyph->bitmap.width); ++x) {
      const int column = left + x, row = top + y;
      if (column < 0 || row < 0 || column >= line.width || row >= line.height) continue;
      uint8_t& pixel =
          line.coverage[static_cast<size_t>(row) * static_cast<size_t>(line.width) + static_cast<size_t>(column)];
      pixel = std::max(pixel, glyph->bitmap.buffer[y * glyph->bitmap.pitch + x]);
    }
  }
}

}  // namespace

struct Font::Face {
  FT_Library library = nullptr;
  FT_Face face = nullptr;

  ~Face() {
    if (face != nullptr) FT_Done_Face(face);
    if (library != nullptr) FT_Done_FreeType(library);
  }
  bool load(FT_ULong point) const { return FT_Load_Char(face, point, FT_LOAD_RENDER | FT_LOAD_NO_HINTING) == 0; }
};

Font::Font(std::unique_ptr<Face> face) : face_(std::move(face)) {}
Font::~Font() = default;

std::unique_ptr<Font> Font::open(const char* file) {
  auto face = std::make_unique<Face>();
  if (FT_Init_FreeType(&face->library) != 0 || FT_New_Face(face->library, file, 0, &face->face) != 0) return nullptr;
  return std::unique_ptr<Font>(new Font(std::move(face)));
}

const Font* Font::find(bool bold) {
  static const std::unique_ptr<Font> regular = open(kRegular), strong = open(kBold);
  return bold ? strong.get() : regular.get();
}

Lettering Font::set(const std::string& line, int pixels) const {
  FT_Set_Pixel_Sizes(face_->face, 0, static_cast<FT_UInt>(pixels));
  const std::vector<FT_ULong> points = code_points(line);
  Lettering result;
  for (const FT_ULong point : points)
    if (face_->load(point)) result.width += static_cast<int>(face_->face->glyph->advance.x >> 6);
  result.ascent = static_cast<int>(face_->face->size->metrics.ascender >> 6) + 1;
  result.height = result.ascent - static_cast<int>(face_->face->size->metrics.descender >> 6) + 1;
  result.coverage.resize(static_cast<size_t>(result.width) * static_cast<size_t>(result.height));
  int pen = 0;
  for (const FT_ULong point : points) {
    if (!face_->load(point)) continue;
    add_letter(result, face_->face->glyph, pen);
    pen += static_cast<int>(face_->face->glyph->advance.x >> 6);
  }
  return result;
}

}  // namespace fib::report
