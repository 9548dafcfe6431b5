// SPDX-License-Identifier: Apache-2.0
// Lines of text as pixels, in a font of the system.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace fib::report {

/// How much of each pixel a line of text covers, 0 to 255.
struct Lettering {
  int width = 0, height = 0;
  int ascent = 0;  ///< rows above the baseline
  std::vector<uint8_t> coverage;
};

/// DejaVu Sans, as Debian's fonts-dejavu-core installs it.
class Font {
 public:
  /// Null where the system has no such font.
  static const Font* find(bool bold);

  /// UTF-8; `pixels` is the font's size.
  Lettering set(const std::string& line, int pixels) const;

  ~Font();
  Font(const Font&) = delete;
  Font& operator=(const Font&) = delete;

 private:
  struct Face;
  explicit Font(std::unique_ptr<Face> face);
  static std::unique_ptr<Font> open(const char* file);

  std::unique_ptr<Face> face_;
};

}  // namespace fib::report
