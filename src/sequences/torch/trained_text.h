// SPDX-License-Identifier: Apache-2.0
// A decoder that has learned a text, and how it writes on.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "base/safetensors.h"
#include "sequences/compiled_text.h"
#include "sequences/text.h"
#include "sequences/torch/decoder.h"
#include "sequences/writer.h"
#include "training/recipe/recipe.h"

namespace fib::sequences {

/// The best weights of a run; of one that chose none, the averaged or the last ones. Throws std::invalid_argument for a
/// run that learned another task, std::runtime_error for one without weights.
std::filesystem::path weights_of_run(const std::filesystem::path& run, const training::Recipe& recipe,
                                     const std::string& task);

/// Before a model is made, whose size a run's config.toml may claim at will. Throws std::runtime_error.
void check_parameters(const SafetensorsFile& file, const std::string& model, int64_t wanted);

/// Every parameter by its name and in its shape, or a std::runtime_error.
void load_parameters(torch::nn::Module& module, const SafetensorsFile& file, const std::string& model);

struct TrainedText {
  training::Recipe recipe;
  std::string weights;  ///< the file's name
  Vocabulary vocabulary = Vocabulary::bytes();
  std::shared_ptr<TextDecoder> model;

  TextCard card() const { return {recipe.model.name, recipe.model.attention, vocabulary}; }
};

TrainedText open_text(const std::filesystem::path& run);

/// A decoder of LibTorch's with its cache.
class CachedDecoder final : public TokenModel {
 public:
  explicit CachedDecoder(TextDecoder& model) : model_(model), cache_(model.trunk().make_cache()) {}

  std::span<const float> read(std::span<const int32_t> tokens) override;
  void restart() override { cache_.position = 0; }
  int64_t most_positions() const override;
  int64_t cache_bytes() const override { return cache_.bytes(); }

 private:
  TextDecoder& model_;
  DecoderCache cache_;
  at::Tensor logits_;
};

}  // namespace fib::sequences
