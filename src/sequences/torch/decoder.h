// SPDX-License-Identifier: Apache-2.0
// Causal transformers: a trunk of pre-norm blocks that looks back, with symbols at both its ends.
//
//   TextDecoder model(decoder_dimensions("nanogpt_cpu", {.attention = AttentionSpec::parse("fibottention")}), 65);
//   at::Tensor logits = model.forward(tokens);      // int64 [B,T] -> [B,T,65]
//   DecoderCache cache = model.trunk().make_cache();
//   at::Tensor next = model.extend(cache, tokens);  // int64 [n] -> [65], of the last of them
//
// Letters: B samples, T tokens, D the width, H heads, d channels of a head, R rows of a cache, V symbols.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <vector>

#include "models/torch/layers.h"
#include "sequences/decoder.h"
#include "sequences/torch/causal.h"

namespace fib::sequences {

/// Keys and values of earlier tokens, of one sequence: the last R of them in each layer, as many as it looks back.
struct DecoderCache {
  struct Layer {
    at::Tensor k, v;  ///< [H,R,d], position p in row p mod R
  };
  std::vector<Layer> layers;
  int64_t position = 0;  ///< of the next token

  int64_t bytes() const;
};

/// Causal self-attention in a block: the whole of a sequence, or its next tokens with a cache.
class CausalSelfAttention final : public models::Mixer {
 public:
  CausalSelfAttention(const DecoderDimensions& dims, int64_t layer);
  at::Tensor forward(const at::Tensor& x) override;

  const CausalAttention& attention() const { return attention_; }
  /// While it is set, x [1,n,D] are the tokens from `position` on, whose keys and values go into the cache.
  void set_cache(DecoderCache::Layer* cache, int64_t position);
  models::Linear& projection() { return *proj_; }

 private:
  at::Tensor turned(const at::Tensor& qkv) const;
  at::Tensor step_by_step(const at::Tensor& qkv);

  int64_t heads_, dim_;
  bool rotary_;
  double dropout_;
  std::shared_ptr<models::Linear> qkv_, proj_;
  CausalAttention attention_;
  DecoderCache::Layer* cache_ = nullptr;
  int64_t position_ = 0;
};

/// Blocks with the position embedding before and a norm behind them: [B,T,D] -> [B,T,D].
class DecoderTrunk : public torch::nn::Module {
 public:
  explicit DecoderTrunk(const DecoderDimensions& dims);

  /// Owns x, whose memory it may use. Throws std::invalid_argument for more tokens than learned positions.
  at::Tensor forward(const at::Tensor& x);
  /// The tokens x [1,n,D] that come next.
  at::Tensor extend(DecoderCache& cache, const at::Tensor& x);

  DecoderCache make_cache() const;
  const DecoderDimensions& dimensions() const { return dims_; }
  const std::vector<std::shared_ptr<CausalSelfAttention>>& attentions() const { return attentions_; }
  /// As GPT-2 begins: N(0, 0.02), and what adds to the residual stream less the more layers do.
  void initialize();

 private:
  at::Tensor placed(const at::Tensor& x, int64_t first);
  at::Tensor blocks(at::Tensor x);

  DecoderDimensions dims_;
  at::Tensor positions_;  ///< [context,D]; undefined where they are rotary
  std::vector<std::shared_ptr<models::Block>> blocks_;
  std::vector<std::shared_ptr<CausalSelfAttention>> attentions_;
  std::shared_ptr<models::LayerNorm> norm_;
};

/// Of text: the classifier shares its weights with the embedding of symbols.
class TextDecoder : public torch::nn::Module {
 public:
  TextDecoder(const DecoderDimensions& dims, int64_t symbols);

  /// int64 [B,T] -> logits [B,T,V].
  at::Tensor forward(const at::Tensor& tokens);
  /// Those of the last of the tokens int64 [n] that come next: [V].
  at::Tensor extend(DecoderCache& cache, const at::Tensor& tokens);

  DecoderTrunk& trunk() { return *trunk_; }
  int64_t symbols() const { return symbols_.size(0); }

 private:
  at::Tensor symbols_;  ///< [V,D]
  std::shared_ptr<DecoderTrunk> trunk_;
};

}  // namespace fib::sequences
