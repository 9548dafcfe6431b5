// SPDX-License-Identifier: Apache-2.0
// A decoder that has learned a text, and how it writes on.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "base/safetensors.h"
#include "sequences/sampling.h"
#include "sequences/text.h"
#include "sequences/torch/decoder.h"
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
};

TrainedText open_text(const std::filesystem::path& run);

/// Reads symbols and writes the next ones, each after a look at the cache alone. Where learned positions end, it begins
/// anew with the later half of the context.
class Writer {
 public:
  Writer(TextDecoder& model, const SamplingOptions& sampling, uint64_t seed);

  void read(std::span<const int32_t> symbols);
  /// Draws a symbol and reads it. Something must have been read.
  int32_t next();
  const DecoderCache& cache() const { return cache_; }

 private:
  void feed(std::span<const int32_t> symbols);
  bool places_end() const;

  TextDecoder& model_;
  SamplingOptions sampling_;
  CounterRng rng_;
  DecoderCache cache_;
  std::vector<int32_t> seen_;  ///< since the cache was empty; kept where places end
  at::Tensor logits_;
};

}  // namespace fib::sequences
