// SPDX-License-Identifier: Apache-2.0
#include "models/torch/token_reducer.h"

#include "models/kinds.h"
#include "ops/token_reduction.h"

namespace fib::models {
namespace {

constexpr int64_t kClassTokens = 1;

/// Rows of any shape, [B,T,...].
at::Tensor taken(const at::Tensor& x, const at::Tensor& index) {
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes[1] = index.size(1);
  return ops::take_tokens(x.flatten(2), index).view(sizes);
}

at::Tensor taken_numbers(const at::Tensor& row, const at::Tensor& index) {
  return ops::take_tokens(row.unsqueeze(2), index).squeeze(2);
}

/// Of the class token to all tokens, mean over heads: [B,T].
at::Tensor class_attention(const at::Tensor& qkv, double scale) {
  const at::Tensor q = qkv.select(2, 0).narrow(1, 0, 1).transpose(1, 2);         // [B,H,1,d]
  const at::Tensor k = qkv.select(2, 1).permute({0, 2, 3, 1});                   // [B,H,d,T]
  return at::softmax(at::matmul(q * scale, k), -1).mean(at::IntArrayRef{1, 2});  // [B,T]
}

}  // namespace

TokenReducer::TokenReducer(const Dimensions& dims, int64_t block)
    : reduction_(dims.options.tokens), grid_(dims.grid()) {
  const std::vector<int64_t> counts = tokens_by_block(dims);
  enter_ = counts[static_cast<size_t>(block)];
  leave_ = counts[static_cast<size_t>(block) + 1];
}

at::Tensor TokenReducer::fact(const at::Tensor& owner, const char* name) const {
  return ops::tell_tokens(owner, enter_, kClassTokens, grid_.height, grid_.width, name);
}

at::Tensor TokenReducer::with_bias(attention::Mechanism& mechanism, const at::Tensor& qkv,
                                   const at::Tensor& row) const {
  if (!row.defined()) return mechanism.forward_packed(qkv);
  const int64_t B = row.size(0), T = row.size(1);
  return mechanism.forward_packed(qkv, row.view({B, 1, 1, T}).expand({B, 1, T, T}));
}

at::Tensor TokenReducer::in_order_of_slots(attention::Mechanism& mechanism, const at::Tensor& qkv,
                                           const at::Tensor& owner) const {
  const at::Tensor order = fact(owner, "order");
  const at::Tensor bias = merges() ? taken_numbers(fact(owner, "log_sizes"), order) : at::Tensor();
  return taken(with_bias(mechanism, taken(qkv, order), bias), fact(owner, "ranks"));
}

/// A patch that is not the slot of its token is no key, and what it asks is not looked at; as it has its token's key
/// and value, means over a tile are those of all its patches.
at::Tensor TokenReducer::on_first_places(attention::Mechanism& mechanism, const at::Tensor& qkv,
                                         const at::Tensor& owner) const {
  const at::Tensor bias = fact(owner, merges() ? "slot_log_sizes" : "slot_bias");
  return taken(with_bias(mechanism, taken(qkv, owner), bias), fact(owner, "slots"));
}

at::Tensor TokenReducer::attend(attention::Mechanism& mechanism, const at::Tensor& qkv, const at::Tensor& owner) const {
  if (!owner.defined()) return mechanism.forward_packed(qkv);
  if (!mechanism.info().support_set)
    return with_bias(mechanism, qkv, merges() ? fact(owner, "log_sizes") : at::Tensor());
  return reduction_.distance == TokenReduction::Distance::compact ? in_order_of_slots(mechanism, qkv, owner)
                                                                  : on_first_places(mechanism, qkv, owner);
}

TokenReducer::Tokens TokenReducer::reduced(const Tokens& tokens, const at::Tensor& qkv, double scale) const {
  if (leave_ == enter_) return tokens;
  at::Tensor plan, weight;
  if (merges()) {
    plan = ops::plan_merging(qkv.select(2, 1).transpose(1, 2), reduction_.merged, kClassTokens);
    if (tokens.owner.defined()) weight = fact(tokens.owner, "sizes");
  } else {
    weight = class_attention(qkv, scale);
    const at::Tensor score = weight.narrow(1, kClassTokens, enter_ - kClassTokens);
    plan = ops::plan_keeping(score, leave_ - kClassTokens - 1, kClassTokens);
  }
  const at::Tensor owner = tokens.owner.defined() ? taken_numbers(plan, tokens.owner) : plan;
  return {ops::merge_tokens(tokens.x, weight, plan, leave_, merges()), owner};
}

at::Tensor TokenReducer::weights(const at::Tensor& owner) const {
  if (!merges() || !owner.defined()) return {};
  return ops::tell_tokens(owner, leave_, kClassTokens, grid_.height, grid_.width, "sizes");
}

}  // namespace fib::models
