// SPDX-License-Identifier: Apache-2.0
// Attention and reduction in one block of a model whose tokens become fewer.
//
// Letters: B samples, S tokens at the beginning, T tokens that enter the block, D channels.
#pragma once

#include "attention/torch/mechanism.h"
#include "models/table.h"

namespace fib::models {

class TokenReducer {
 public:
  /// Of a block, counted from 0.
  TokenReducer(const Dimensions& dims, int64_t block);

  /// What the heads give, [B,T,H·e], for qkv [B,T,3,H,d]. `owner` [B,S] says which token each of the first ones is part
  /// of; undefined: every token is still its own.
  at::Tensor attend(attention::Mechanism& mechanism, const at::Tensor& qkv, const at::Tensor& owner) const;

  /// x [B,T,D] with the tokens that are left, and their owner.
  struct Tokens {
    at::Tensor x, owner;
  };
  Tokens reduced(const Tokens& tokens, const at::Tensor& qkv, double scale) const;

  /// How many patches each token is the mean of, [B,T]; undefined where the mean of all tokens is asked for as it is.
  at::Tensor weights(const at::Tensor& owner) const;

 private:
  at::Tensor fact(const at::Tensor& owner, const char* name) const;
  at::Tensor with_bias(attention::Mechanism& mechanism, const at::Tensor& qkv, const at::Tensor& row) const;
  at::Tensor in_order_of_slots(attention::Mechanism& mechanism, const at::Tensor& qkv, const at::Tensor& owner) const;
  at::Tensor on_first_places(attention::Mechanism& mechanism, const at::Tensor& qkv, const at::Tensor& owner) const;
  bool merges() const { return reduction_.method == TokenReduction::Method::tome; }

  TokenReduction reduction_;
  attention::Grid grid_;  // of the patches at the beginning
  int64_t enter_ = 0, leave_ = 0;
};

}  // namespace fib::models
