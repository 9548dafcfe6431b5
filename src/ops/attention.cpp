// SPDX-License-Identifier: Apache-2.0
// fibottention::attention: the paper's mechanism by its parameters, on the generic operator. Registered without a key,
// so it is differentiated and dispatched through what it calls.

#include "ops/checks.h"
#include "ops/implementations.h"
#include "ops/support_cache.h"

namespace fib::ops {
namespace {

void check_tokens(int64_t tokens, int64_t heads, const Wythoff& w) {
  TORCH_CHECK_VALUE(w.cls >= 0 && w.cls < tokens, "attention: cls must leave a patch token: 0 to ", tokens - 1, " for ",
                    tokens, " tokens, got ", w.cls);
  TORCH_CHECK_VALUE(heads > 0, "attention: heads must be 1 or more, got 0");
  TORCH_CHECK_VALUE(!w.layer || *w.layer >= 0, "attention: layer must be None, or 0 or more, got ",
                    w.layer.value_or(0));
}

Call wythoff_call(int64_t tokens, int64_t heads, const Wythoff& w) {
  check_tokens(tokens, heads, w);
  Call call;
  call.support = cached_wythoff_support(
      {tokens - w.cls, w.cls, heads, w.wmin, w.wmax, w.layer.value_or(-1), w.modified, w.causal});
  call.masking = w.masking;
  call.scale = w.scale;
  call.dropout = w.dropout;
  return call;
}

}  // namespace

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Wythoff& parameters) {
  TORCH_CHECK_VALUE(q.dim() == 4, "attention: q must be [batch, heads, tokens, channels], got ", q.sizes());
  return std::get<0>(dispatch_forward({q, k, v}, wythoff_call(q.size(2), q.size(1), parameters)));
}

at::Tensor attention_packed(const at::Tensor& qkv, const Wythoff& parameters) {
  check_packed(qkv);
  return std::get<0>(dispatch_packed_forward(qkv, wythoff_call(qkv.size(1), qkv.size(3), parameters)));
}

}  // namespace fib::ops
