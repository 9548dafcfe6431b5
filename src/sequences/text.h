// SPDX-License-Identifier: Apache-2.0
// Text as numbers: a file, its symbols, and the parts that are learned from, chosen by and tested on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fib::sequences {

/// What a token is. bytes: any file, 256 of them; characters: those that a text in UTF-8 has.
enum class Symbols { bytes, characters };

/// The symbols by number. Characters are in the order of their code points.
class Vocabulary {
 public:
  static Vocabulary bytes();
  /// The characters of a text. Throws std::invalid_argument naming the first byte that is no UTF-8.
  static Vocabulary characters_of(std::string_view text);
  /// The inverse of text(). Throws std::invalid_argument.
  static Vocabulary parse(Symbols symbols, std::string_view text);

  int64_t size() const { return symbols_ == Symbols::bytes ? 256 : static_cast<int64_t>(characters_.size()); }
  Symbols symbols() const { return symbols_; }
  /// All its characters in order; empty for bytes.
  std::string text() const;

  /// Throws std::invalid_argument naming a character that it does not have and where it stands.
  std::vector<int32_t> encode(std::string_view text) const;
  std::string decode(int32_t symbol) const;
  std::string decode(std::span<const int32_t> symbols) const;

 private:
  explicit Vocabulary(Symbols symbols, std::vector<char32_t> characters = {})
      : symbols_(symbols), characters_(std::move(characters)) {}

  Symbols symbols_;
  std::vector<char32_t> characters_;  ///< ascending
};

/// Symbols [begin, end) of a text.
struct TextPart {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

struct TextOptions {
  Symbols symbols = Symbols::bytes;
  double test_share = 0.1;        ///< the end of the text
  double validation_share = 0.1;  ///< of what is before it, its end
  int64_t context = 64;
};

/// text:FILE?symbols=characters&context=N&test=SHARE&epoch_steps=N, each option where it is wanted.
struct TextSource {
  std::filesystem::path file;
  TextOptions options;      ///< symbols and test_share are told
  int64_t context = 0;      ///< 0: the decoder's own
  int64_t epoch_steps = 0;  ///< 0: as many as see as many symbols as are trained on
};
/// Throws std::invalid_argument with one line for anything else.
TextSource text_source(const std::string& data);

struct Text {
  Vocabulary vocabulary = Vocabulary::bytes();
  std::vector<int32_t> symbols;
  int64_t bytes = 0;
  TextPart train, validation, test;

  double bytes_per_symbol() const { return static_cast<double>(bytes) / static_cast<double>(symbols.size()); }
};

/// Throws std::runtime_error with one line for a file that cannot be read or is empty, std::invalid_argument for one
/// that is shorter than the options ask for: each part that is not empty holds a context and the symbol after it.
Text read_text(const std::filesystem::path& file, const TextOptions& options);

}  // namespace fib::sequences
