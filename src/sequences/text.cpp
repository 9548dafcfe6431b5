// SPDX-License-Identifier: Apache-2.0
#include "sequences/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "base/read_file.h"
#include "base/text.h"
#include "sequences/source.h"

namespace fib::sequences {
namespace {

constexpr size_t kMostTextBytes = size_t{1} << 31;

struct Character {
  char32_t code = 0;
  size_t bytes = 0;  ///< 0: there is none
};

/// The first character of a text that is not empty. Overlong forms, surrogates and what ends too early are none.
Character first_character(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  char32_t code = lead & (0x7fU >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return {};
    code = code << 6U | (byte(i) & 0x3fU);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code < kLeast[bytes] || surrogate || code > 0x10ffff ? Character{} : Character{code, bytes};
}

std::string utf8(char32_t code) {
  const auto part = [&](unsigned shift) { return static_cast<char>(0x80U | (code >> shift & 0x3fU)); };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xc0U | code >> 6U), part(0)};
  if (code < 0x10000) return {static_cast<char>(0xe0U | code >> 12U), part(6), part(0)};
  return {static_cast<char>(0xf0U | code >> 18U), part(12), part(6), part(0)};
}

/// Calls body(character, place in bytes) for all of a text.
template <class Body>
void for_characters(std::string_view text, const Body& body) {
  for (size_t at = 0; at < text.size();) {
    const Character character = first_character(text.substr(at));
    if (character.bytes == 0) {
      throw std::invalid_argument(fmt::format("byte {} is {:#04x}, which is no UTF-8: symbols=bytes takes any text", at,
                                              static_cast<unsigned char>(text[at])));
    }
    body(character.code, at);
    at += character.bytes;
  }
}

void require_length(const TextPart& part, const char* which, const TextOptions& options) {
  if (part.size() > options.context) return;
  throw std::invalid_argument(fmt::format("{} {} symbols to {}: at least {} are needed, a context of {} and one more",
                                          part.size() == 0 ? "there are" : "the text has", part.size(), which,
                                          options.context + 1, options.context));
}

void divide(Text& text, const TextOptions& options) {
  const auto all = static_cast<int64_t>(text.symbols.size());
  const auto part_of = [](double share, int64_t of) { return std::llround(share * static_cast<double>(of)); };
  text.test = {all - part_of(options.test_share, all), all};
  text.validation = {text.test.begin - part_of(options.validation_share, text.test.begin), text.test.begin};
  text.train = {0, text.validation.begin};
  require_length(text.train, "train on", options);
  if (text.validation.size() > 0) require_length(text.validation, "choose by", options);
  require_length(text.test, "test on", options);
}

}  // namespace

Vocabulary Vocabulary::bytes() { return Vocabulary(Symbols::bytes); }

Vocabulary Vocabulary::characters_of(std::string_view text) {
  std::set<char32_t> found;
  for_characters(text, [&](char32_t code, size_t) { found.insert(code); });
  return Vocabulary(Symbols::characters, {found.begin(), found.end()});
}

Vocabulary Vocabulary::parse(Symbols symbols, std::string_view text) {
  return symbols == Symbols::bytes ? bytes() : characters_of(text);
}

std::string Vocabulary::text() const {
  std::string all;
  for (const char32_t code : characters_) all += utf8(code);
  return all;
}

std::vector<int32_t> Vocabulary::encode(std::string_view text) const {
  std::vector<int32_t> symbols;
  symbols.reserve(text.size());
  if (symbols_ == Symbols::bytes) {
    for (const char c : text) symbols.push_back(static_cast<unsigned char>(c));
    return symbols;
  }
  for_characters(text, [&](char32_t code, size_t at) {
    const auto found = std::lower_bound(characters_.begin(), characters_.end(), code);
    if (found == characters_.end() || *found != code) {
      throw std::invalid_argument(fmt::format("the character {} at byte {} is none of the {} that were learned",
                                              in_quotes(utf8(code)), at, characters_.size()));
    }
    symbols.push_back(static_cast<int32_t>(found - characters_.begin()));
  });
  return symbols;
}

std::string Vocabulary::decode(int32_t symbol) const {
  if (symbols_ == Symbols::bytes) return {static_cast<char>(static_cast<unsigned char>(symbol))};
  return utf8(characters_.at(static_cast<size_t>(symbol)));
}

std::string Vocabulary::decode(std::span<const int32_t> symbols) const {
  std::string text;
  for (const int32_t symbol : symbols) text += decode(symbol);
  return text;
}

TextSource text_source(const std::string& data) {
  const Source source(data, "text", {"symbols", "context", "test", "epoch_steps"});
  TextSource text{.file = source.file(), .options = {}};
  text.options.symbols = static_cast<Symbols>(source.choice("symbols", {"bytes", "characters"}));
  text.options.test_share = source.share("test", text.options.test_share);
  text.context = source.integer("context", 0, 1);
  text.epoch_steps = source.integer("epoch_steps", 0, 1);
  return text;
}

Text read_text(const std::filesystem::path& file, const TextOptions& options) {
  const std::string content = read_file(file, kMostTextBytes);
  if (content.empty()) throw std::runtime_error(fmt::format("{} is empty", in_quotes(file.string())));
  Text text;
  text.bytes = static_cast<int64_t>(content.size());
  try {
    if (options.symbols == Symbols::characters) text.vocabulary = Vocabulary::characters_of(content);
    text.symbols = text.vocabulary.encode(content);
    divide(text, options);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("{}: {}", in_quotes(file.string()), error.what()));
  }
  return text;
}

}  // namespace fib::sequences
