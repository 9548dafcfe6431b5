// SPDX-License-Identifier: Apache-2.0
// A decoder of texts as `fib compile` writes it, run without torch.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/safetensors.h"
#include "engine/engine.h"
#include "sequences/text.h"
#include "sequences/writer.h"

namespace fib::sequences {

/// What the metadata of a decoder's weights tell.
struct TextCard {
  std::string model, attention;
  Vocabulary vocabulary = Vocabulary::bytes();
};
TensorMetadata to_metadata(const TextCard& card);
/// Throws std::runtime_error with one line for what is no decoder of texts. `file` is for messages.
TextCard read_text_card(const TensorMetadata& metadata, const std::string& file);

class CompiledText final : public TokenModel {
 public:
  /// Throws std::runtime_error with one line for a file that cannot be read, is no decoder of texts or takes more than
  /// the limits grant.
  explicit CompiledText(const std::filesystem::path& file, const engine::Limits& limits = {});

  const TextCard& card() const { return card_; }
  engine::Precision precision() const { return engine_.content().precision; }

  std::span<const float> read(std::span<const int32_t> tokens) override;
  void restart() override { engine_.restart(); }
  int64_t most_positions() const override;
  int64_t cache_bytes() const override;

 private:
  engine::Engine engine_;
  TextCard card_;
  std::vector<float> logits_;
};

}  // namespace fib::sequences
