// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <stdexcept>

#include "attention/torch/mechanisms.h"

namespace fib::attention {

at::Tensor dense_scores(const Inputs& in, double scale) {
  const int64_t B = in.q.size(0), H = in.q.size(1), Tq = in.q.size(2), Tk = in.k.size(2);
  // The scale would cost nothing inside baddbmm, but with it a model of small matrices gave NaN now and then (LibTorch
  // 1.13); its beta of 0 seems to meet memory that was never set. The product and a scaled q do the same.
  const at::Tensor q = (in.q * scale).reshape({B * H, Tq, -1});
  const at::Tensor k = in.k.reshape({B * H, Tk, -1});
  const at::Tensor scores = at::bmm(q, k.transpose(1, 2));
  if (!in.bias.defined()) return scores.view({B, H, Tq, Tk});
  const int64_t G = in.bias.size(0);
  return (scores.view({B / G, G, H, Tq, Tk}) + in.bias).view({B, H, Tq, Tk});
}

at::Tensor softmax_or_zero(const at::Tensor& scores) {
  const at::Tensor blind = scores.eq(-std::numeric_limits<double>::infinity()).all(-1, true);  // [B,H,Tq,1]
  return at::softmax(scores.masked_fill(blind, 0.0), -1).masked_fill(blind, 0.0);
}

void refuse_bias(const Mechanism& mechanism, const at::Tensor& bias, const char* reason) {
  if (bias.defined()) throw std::invalid_argument(mechanism.spec().name + " takes no bias: " + reason);
}

}  // namespace fib::attention
