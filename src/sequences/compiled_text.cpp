// SPDX-License-Identifier: Apache-2.0
#include "sequences/compiled_text.h"

#include <fmt/format.h>

#include <limits>
#include <stdexcept>

#include "base/text.h"

namespace fib::sequences {

TensorMetadata to_metadata(const TextCard& card) {
  return {{"task", "text"},
          {"model", card.model},
          {"attention", card.attention},
          {"symbols", card.vocabulary.symbols() == Symbols::bytes ? "bytes" : "characters"},
          {"vocabulary", card.vocabulary.text()}};
}

TextCard read_text_card(const TensorMetadata& metadata, const std::string& file) {
  const auto told = [&](const char* key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string() : found->second;
  };
  if (told("task") != "text")
    throw std::runtime_error(
        fmt::format("'{}' is no decoder of texts; fib compile makes one of a run of the task text", file));
  const bool characters = told("symbols") == "characters";
  try {
    return {told("model"), told("attention"),
            Vocabulary::parse(characters ? Symbols::characters : Symbols::bytes, told("vocabulary"))};
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(fmt::format("'{}': its vocabulary: {}", file, error.what()));
  }
}

CompiledText::CompiledText(const std::filesystem::path& file, const engine::Limits& limits)
    : engine_(file, limits), card_(read_text_card(engine_.content().card, file.string())) {
  const int64_t symbols = engine_.content().programs.front().classes;
  if (!engine_.takes_tokens() || symbols != card_.vocabulary.size())
    throw std::runtime_error(fmt::format("'{}' has {} symbols, its steps give logits of {}{}", file.string(),
                                         card_.vocabulary.size(), symbols, engine_.takes_tokens() ? "" : " of images"));
  logits_.resize(static_cast<size_t>(symbols));
}

std::span<const float> CompiledText::read(std::span<const int32_t> tokens) {
  engine_.step(tokens, logits_);
  return logits_;
}

int64_t CompiledText::most_positions() const {
  return engine_.most_positions() == std::numeric_limits<int64_t>::max() ? 0 : engine_.most_positions();
}

int64_t CompiledText::cache_bytes() const {
  return engine_.content().programs.front().state_elements * static_cast<int64_t>(sizeof(float));
}

}  // namespace fib::sequences
