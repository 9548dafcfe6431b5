// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

namespace fib::ops {

/// Images to images of the same size: x [B,C,h,w], weight [K,C,r,r] with odd r, bias [K] or undefined -> [B,K,h,w]. Of
/// few channels in float32 on the CPU by our kernel, else by torch.
at::Tensor convolution(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

/// Images to images of twice the size, as torch's transposed convolution with stride 2 and padding 1 does it: x
/// [B,C,h,w], weight [C,K,4,4], bias [K] -> [B,K,2h,2w].
at::Tensor doubling_convolution(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

}  // namespace fib::ops
