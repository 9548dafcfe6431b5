// SPDX-License-Identifier: Apache-2.0
// What attention accepts, checked once at the boundary; the tiles behind it trust their arguments.
#pragma once

#include "fibottention/attention.h"

namespace fib::kernels {

inline constexpr int64_t kMaxDim = 512;

// What does not depend on where the arrays lie; implementations on other devices share it.
void check_shape(const SupportSet& support, const AttentionShape& shape);
void check_dropout(double probability);
/// masking = zero exists for weights trained with the published code, which knows none of the others.
void check_masking(Masking masking, const SupportSet& support, bool lengths, bool bias, double dropout);

template <class T>
void check_forward(const SupportSet& support, const AttentionShape& shape, const AttentionInputs<T>& inputs,
                   const TokenView<T>& out, const AttentionOptions<T>& options);

template <class T>
void check_backward(const SupportSet& support, const AttentionShape& shape, const AttentionInputs<T>& inputs,
                    const TokenView<const T>& out, const T* lse, const TokenView<const T>& grad_out,
                    const AttentionGradients<T>& gradients, const AttentionOptions<T>& options);

template <class T>
void check_dense_forward(const AttentionShape& shape, const AttentionInputs<T>& inputs, const TokenView<T>& out,
                         const DenseOptions<T>& options);

template <class T>
void check_dense_backward(const AttentionShape& shape, const AttentionInputs<T>& inputs, const TokenView<const T>& out,
                          const T* lse, const TokenView<const T>& grad_out, const AttentionGradients<T>& gradients,
                          const DenseOptions<T>& options);

}  // namespace fib::kernels
