// SPDX-License-Identifier: Apache-2.0
// A decoder learns what symbol comes next.
#pragma once

#include <memory>

#include "sequences/text.h"
#include "sequences/torch/decoder.h"
#include "training/torch/task.h"

namespace fib::sequences {

/// The decoder that a recipe describes, with this context; 0: the row's.
DecoderDimensions decoder_of(const training::Recipe& recipe, int64_t context);

class TextTask final : public training::Task {
 public:
  TextTask(const training::Recipe& recipe, const training::RankInfo& rank, Text text);

  torch::nn::Module& network() override { return *model_; }
  /// One rate for all parameters.
  std::vector<int64_t> stages() const override { return {}; }
  training::TaskFacts facts() const override;
  int64_t steps_per_epoch() const override;
  /// Windows from anywhere in the text, as seed, epoch, step and place in the batch draw them.
  std::unique_ptr<training::TaskStream> epoch(int64_t epoch, int64_t first_step) override;
  /// Tokens [B,T], and the same one later.
  at::Tensor loss(const training::TaskBatch& batch) override;
  /// Windows one after another: every symbol of the part is predicted once, but for a rest shorter than a window. A
  /// test with rotary positions also has the loss of windows two and four times as long.
  training::Evaluation evaluate(training::Split split, training::ProcessGroup& group,
                                const training::EvaluationHooks& hooks) override;
  TensorMetadata metadata() const override;
  std::optional<training::AttentionFacts> attention(int64_t samples) override;

 private:
  const DecoderDimensions& dimensions() const { return model_->trunk().dimensions(); }
  int64_t windows(const TextPart& part, int64_t context) const;
  double mean_loss(const TextPart& part, int64_t context, training::ProcessGroup& group,
                   const training::EvaluationHooks& hooks);

  training::Recipe recipe_;
  training::RankInfo rank_;
  TextSource source_;
  Text text_;
  at::Tensor symbols_;  ///< int64 [n], all of the text
  std::shared_ptr<TextDecoder> model_;
};

/// What attention costs in a step of `samples` windows.
training::AttentionFacts attention_facts(DecoderTrunk& trunk, int64_t samples);

}  // namespace fib::sequences
