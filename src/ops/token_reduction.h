// SPDX-License-Identifier: Apache-2.0
// Fewer tokens as torch functions: plans without a gradient by kernels/token_reduction.h, and what moves tokens, with
// one. They are operators of torch.ops.fibottention, so that a recorded model has a node for each.
//
// Letters: B samples, T tokens now, S at the beginning, U afterwards, D channels.
#pragma once

#include <ATen/ATen.h>

#include <string>

namespace fib::ops {

/// ToMe's matching of keys [B,H,T,d] -> [B,T], each token's place among the T - merged that are left.
at::Tensor plan_merging(const at::Tensor& keys, int64_t merged, int64_t cls);
/// EViT's choice by scores [B,T - cls] -> [B,T], each token's place among cls + kept + 1.
at::Tensor plan_keeping(const at::Tensor& score, int64_t kept, int64_t cls);

/// x [B,T,D] -> [B,U,D] by the plan. `mean`: the mean of what goes to one place, by weights [B,T], all equal where they
/// are undefined. Else only what goes to the last place counts by its weight, and the sums are not divided.
at::Tensor merge_tokens(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& plan, int64_t tokens,
                        bool mean);
/// x [B,T,D] -> [B,U,D]: token index[b,u] at place u.
at::Tensor take_tokens(const at::Tensor& x, const at::Tensor& index);

/// A fact (kernels::TokenFact) of `tokens` tokens that patches of a height × width grid have become, by owner [B,S].
at::Tensor tell_tokens(const at::Tensor& owner, int64_t tokens, int64_t cls, int64_t height, int64_t width,
                       const std::string& fact);

}  // namespace fib::ops
