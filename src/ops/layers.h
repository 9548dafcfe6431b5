// SPDX-License-Identifier: Apache-2.0
// Layers as differentiable torch functions, by our kernels on the CPU in float32 where these serve, else by torch's own
// operations: linear layers of every model, and what the robots' policies are made of besides.
#pragma once

#include <ATen/ATen.h>

namespace fib::ops {

// ---- Precision ------------------------------------------------------------------------------------------------------

/// While it lives, linear layers that have a kernel multiply in bfloat16 on this thread, and so does their backward
/// whenever it runs; sums, parameters, norms, what stands between layers and the loss are float32
/// (kernels/linear_bf16.h).
class Bfloat16Products {
 public:
  /// `wanted` false does nothing.
  explicit Bfloat16Products(bool wanted);
  ~Bfloat16Products();
  Bfloat16Products(const Bfloat16Products&) = delete;
  Bfloat16Products& operator=(const Bfloat16Products&) = delete;

 private:
  bool before_;
};
bool has_bfloat16_products();

// ---- Linear layers: by our kernel while gradients are recorded, for widths of whole vectors -------------------------

/// x [...,K], weight [N,K], bias [N] or undefined -> [...,N].
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

/// GELU of the same, exact and not its approximation by tanh.
at::Tensor linear_gelu(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

// ---- Of policies ----------------------------------------------------------------------------------------------------

/// at::mish; float32 on the CPU by our kernel, which takes a fifth of its time.
at::Tensor mish(const at::Tensor& x);

/// Images to images of the same size: x [B,C,h,w], weight [K,C,r,r] with odd r, bias [K] or undefined -> [B,K,h,w]. Of
/// few channels in float32 on the CPU by our kernel, else by torch.
at::Tensor convolution(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

/// Images to images of twice the size, as torch's transposed convolution with stride 2 and padding 1 does it: x
/// [B,C,h,w], weight [C,K,4,4], bias [K] -> [B,K,2h,2w].
at::Tensor doubling_convolution(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

}  // namespace fib::ops
