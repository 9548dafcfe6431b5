// SPDX-License-Identifier: Apache-2.0
// fibottention::attention: the paper's mechanism by its parameters, on the generic operator. Registered without a key,
// so it is differentiated and dispatched through what it calls.

#include "ops/implementations.h"
#include "ops/support_cache.h"

namespace fib::ops {

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, int64_t wmin, int64_t wmax,
                     bool modified, int64_t cls, bool causal, Optional<int64_t> layer, std::string masking,
                     Optional<double> scale) {
  TORCH_CHECK_VALUE(q.dim() == 4, "attention: q must be [batch, heads, tokens, channels], got ", q.sizes());
  TORCH_CHECK_VALUE(cls >= 0 && cls < q.size(2), "attention: cls must leave a patch token: 0 to ", q.size(2) - 1,
                    " for ", q.size(2), " tokens, got ", cls);
  TORCH_CHECK_VALUE(!layer || *layer >= 0, "attention: layer must be None, or 0 or more, got ", layer.value_or(0));
  TORCH_CHECK_VALUE(q.size(1) > 0, "attention: q ", q.sizes(), " has no heads");
  const WythoffKey key{q.size(2) - cls, cls, q.size(1), wmin, wmax, layer.value_or(-1), modified, causal};
  Call call;
  call.support = cached_wythoff_support(key);
  call.masking = std::move(masking);
  call.scale = scale;
  return std::get<0>(dispatch_forward({q, k, v}, call));
}

}  // namespace fib::ops
